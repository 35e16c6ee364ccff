"""The shapes of requests and answers as JSON Schema: the one place they are written for machines.

The rules themselves are code, in leap_model; limits are taken from there.
"""

from typing import Any, Final

from leap_model import answer, limits

Shape = dict[str, Any]

REASONS: Final = (
    answer.NO_CANDIDATES,
    answer.INVALID_REQUEST,
    answer.MISSING_FEATURE,
    answer.MODEL_UNAVAILABLE,
    answer.SWITCHED_OFF,
    answer.ALL_EXCLUDED,
    answer.INTERNAL_ERROR,
)
EXCLUSIONS: Final = (
    "unknown_hardware",
    "untrained_hardware",
    "no_cost",
    "invalid_candidate",
    "premium_underused",
    "duplicate",
)


def schemas() -> dict[str, Shape]:
    """The named schemas of the description."""
    return {
        "Request": _request(),
        "Job": _job(),
        "Candidate": _candidate(),
        "Answer": _answer(),
        "Preferred": _preferred(),
        "Excluded": _excluded(),
    }


def named(name: str) -> Shape:
    """A reference to one of the named schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def _request() -> Shape:
    return _object(
        required=("job",),
        job=named("Job"),
        candidates={
            "type": ["array", "null"],
            "maxItems": limits.MOST_CANDIDATES,
            "items": {"anyOf": [_text(limits.LONGEST_NAME), named("Candidate")]},
            "description": "Types, or types with values of their own.",
        },
        launched_at={
            "type": ["string", "null"],
            "format": "date-time",
            "description": "ISO-8601 with a zone; now unless given.",
        },
        allow_untrained={
            "type": ["boolean", "null"],
            "description": "Also rank types that hardly any attempt trained.",
        },
    )


def _job() -> Shape:
    return _object(
        required=("job_name", "model_type", "num_trainers", "batch_size"),
        job_name=_text(limits.LONGEST_JOB_NAME),
        job_family={
            "type": ["string", "null"],
            "maxLength": limits.LONGEST_JOB_NAME,
            "description": "Your own key for the same job again; else derived from job_name.",
        },
        model_type=_text(limits.LONGEST_NAME),
        num_trainers=_trainers(),
        batch_size=_positive("Samples per host and step."),
        accelerators_per_host=_or_null(_accelerators()),
        config=_or_null(_scalars()),
        architecture=_or_null(
            {
                "type": "object",
                "maxProperties": limits.MOST_ENTRIES,
                "additionalProperties": {"type": ["number", "null"]},
            }
        ),
    )


def _candidate() -> Shape:
    return _object(
        required=("hardware_type",),
        hardware_type=_text(limits.LONGEST_NAME),
        id=_or_null(_text(limits.LONGEST_NAME)),
        cost_per_hour=_or_null(_positive("US dollars of one host.")),
        num_trainers=_or_null(_trainers()),
        batch_size=_or_null(_positive("Samples per host and step.")),
        accelerators_per_host=_or_null(_accelerators()),
        config=_or_null(_scalars()),
        allocation=_or_null(_scalars()),
    )


def _answer() -> Shape:
    shape = _object(
        required=("preference", "excluded", "ranking_id", "model_version", "models", "reason"),
        preference={"type": "array", "items": named("Preferred"), "description": "Best first."},
        excluded={"type": "array", "items": named("Excluded")},
        ranking_id={"type": "string", "minLength": 1},
        model_version={"type": ["string", "null"]},
        models={
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "The version used for each prediction target.",
        },
        reason={
            "enum": [None, *REASONS],
            "description": "Why the preference is empty.",
        },
        detail={"type": "string", "description": "The reason in a sentence, where there is one."},
        cold_start={"type": "boolean", "description": "The job's family has no earlier attempts."},
    )
    some = {"preference": {"minItems": 1}, "reason": {"type": "null"}}
    none = {"preference": {"maxItems": 0}, "reason": {"type": "string"}}
    return {**shape, "anyOf": [{"properties": some}, {"properties": none}]}


def _preferred() -> Shape:
    return _object(
        required=("id", "hardware_type", "throughput", "cost_per_hour", "samples_per_dollar"),
        id={"type": "string"},
        hardware_type={"type": "string"},
        throughput=_positive("Predicted samples per second of the whole job."),
        cost_per_hour=_positive("US dollars of one host."),
        num_trainers=_trainers(),
        samples_per_dollar=_positive("throughput × 3600 / (cost_per_hour × num_trainers)."),
        utilization={"type": "number", "description": "Predicted, where that has a model."},
        extrapolated={"const": True, "description": "Hardly any attempt on this type trained."},
    )


def _excluded() -> Shape:
    return _object(
        required=("id", "hardware_type", "reason"),
        id={"type": ["string", "null"]},
        hardware_type={"type": ["string", "null"]},
        reason={"enum": list(EXCLUSIONS)},
        detail={"type": "string"},
    )


def _object(required: tuple[str, ...], **properties: Shape) -> Shape:
    return {"type": "object", "required": list(required), "properties": properties}


def _text(longest: int) -> Shape:
    return {"type": "string", "minLength": 1, "maxLength": longest}


def _positive(description: str) -> Shape:
    return {"type": "number", "exclusiveMinimum": 0, "description": description}


def _trainers() -> Shape:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.MOST_TRAINERS,
        "description": "Hosts of the job.",
    }


def _accelerators() -> Shape:
    most = int(limits.MOST_ACCELERATORS_PER_HOST)
    return {**_positive("Accelerators of one host; else the catalogue's."), "maximum": most}


def _scalars() -> Shape:
    return {
        "type": "object",
        "maxProperties": limits.MOST_ENTRIES,
        "additionalProperties": {},
        "description": "Numbers, texts, booleans and nulls by any name; nested values are dropped.",
    }


def _or_null(shape: Shape) -> Shape:
    return {**shape, "type": [shape["type"], "null"]}
