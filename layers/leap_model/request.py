"""What a ranking request is, checked (contract section 4)."""

import json
import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from leap_model import fields, limits
from leap_model.catalogue import Catalogue, HardwareType
from leap_model.errors import MISSING, FieldError
from leap_model.family import family_of


@dataclass(frozen=True, slots=True)
class Job:
    """The job's own values; a candidate may override some of them."""

    family: str
    model_type: str
    num_trainers: int
    batch_size: float
    accelerators_per_host: float | None
    config: dict[str, fields.Scalar]
    architecture: dict[str, float]


class Candidate(NamedTuple):
    """One hardware type that could host the job, with the job's values where it has none."""

    id: str
    hardware: HardwareType
    cost_per_hour: float
    num_trainers: int
    batch_size: float
    accelerators_per_host: float | None
    config: Mapping[str, fields.Scalar]
    allocation: Mapping[str, fields.Scalar]

    @property
    def job_cost_per_hour(self) -> float:
        """Dollars an hour of all hosts."""
        return self.cost_per_hour * self.num_trainers


@dataclass(frozen=True, slots=True)
class Excluded:
    """A candidate that is not ranked, and why."""

    id: str | None
    hardware_type: str | None
    reason: str
    detail: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry of the answer."""
        entry = {"id": self.id, "hardware_type": self.hardware_type, "reason": self.reason}
        return entry if self.detail is None else {**entry, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Request:
    """A valid request; its candidates are still as they came. `launched_at` None means now."""

    job: Job
    candidates: list[Any]
    launched_at: int | None
    allow_untrained: bool


def parse_request(request: Any) -> Request:
    """Check everything of a request but its candidates.

    Raises
    ------
    FieldError
        The first rule that the request breaks.
    """
    if not fields.is_object(request):
        raise FieldError("request", request, "an object")
    _check_size(request)
    candidates = request.get("candidates")
    if candidates is not None and not isinstance(candidates, list):
        raise FieldError("candidates", candidates, "a list of hardware types")
    if candidates and len(candidates) > limits.MOST_CANDIDATES:
        raise FieldError(
            "candidates", f"{len(candidates)} long", f"at most {limits.MOST_CANDIDATES:,} long"
        )
    launched_at = request.get("launched_at")
    allow_untrained = request.get("allow_untrained")
    return Request(
        job=_job(request.get("job", MISSING)),
        candidates=candidates or [],
        launched_at=None if launched_at is None else fields.time(launched_at, "launched_at"),
        allow_untrained=allow_untrained is not None
        and fields.boolean(allow_untrained, "allow_untrained"),
    )


def parse_candidate(value: Any, job: Job, catalogue: Catalogue) -> Candidate | Excluded:
    """Check one candidate against the job and the catalogue; never raises for bad input."""
    own = {"hardware_type": value} if isinstance(value, str) else value
    if not fields.is_object(own):
        return Excluded(None, None, "invalid_candidate", "a candidate is a name or an object")
    asked, own_id = own.get("hardware_type", MISSING), own.get("id")
    # Where the id itself is at fault the candidate has none, and claims nobody else's.
    known_id = None if own_id is not None else _text_or_none(asked)
    try:
        # What a catalogue knows is a text as it should be.
        hardware = catalogue.find(asked) if isinstance(asked, str) else None
        if hardware is None:
            asked = fields.text(asked, "hardware_type")
        if own_id is not None:
            known_id = fields.text(own_id, "id")
        if hardware is None:
            return Excluded(known_id, asked, "unknown_hardware")
        if own_id is None:
            known_id = hardware.hardware_type
        return _candidate(own, known_id or asked, job, hardware)
    except FieldError as fault:
        return Excluded(known_id, _text_or_none(asked), "invalid_candidate", str(fault))


def _candidate(
    own: Mapping[str, Any], chosen_id: str, job: Job, hardware: HardwareType
) -> Candidate | Excluded:
    # The job's values were checked with the job.
    per_host, trainers, batch_size = job.accelerators_per_host, job.num_trainers, job.batch_size
    if own.get("accelerators_per_host") is not None:
        per_host = _accelerators(own["accelerators_per_host"], "accelerators_per_host")
    if own.get("num_trainers") is not None:
        trainers = fields.integer(own["num_trainers"], "num_trainers", 1, limits.MOST_TRAINERS)
    if own.get("batch_size") is not None:
        batch_size = fields.number(own["batch_size"], "batch_size", above=0)
    config, allocation = _own(own, "config"), _own(own, "allocation")
    cost, fault = _cost(own, hardware, per_host)
    if cost is None:
        return Excluded(chosen_id, hardware.hardware_type, "no_cost", fault)
    # The same object for all that say nothing of their own: it is read once for all of them.
    config = {**job.config, **config} if config else job.config
    return Candidate(chosen_id, hardware, cost, trainers, batch_size, per_host, config, allocation)


_NOTHING: Final[Mapping[str, fields.Scalar]] = MappingProxyType({})


def _own(own: Mapping[str, Any], field: str) -> Mapping[str, fields.Scalar]:
    """An open object of the candidate's own; where it says nothing, the one of all that do not."""
    given = own.get(field)
    return _NOTHING if given is None else fields.scalars(given, field)[0]


def _cost(
    own: Mapping[str, Any], hardware: HardwareType, per_host: float | None
) -> tuple[float | None, str | None]:
    """Dollars an hour of one host: the candidate's own, else the catalogue's; or what is wrong."""
    if own.get("cost_per_hour") is not None:
        try:
            least = limits.LEAST_COST_PER_HOUR
            return fields.number(own["cost_per_hour"], "cost_per_hour", least=least), None
        except FieldError as fault:
            return None, str(fault)
    if per_host is None:
        per_host = hardware.specifications.get("accelerators_per_host")
    return hardware.host_cost(per_host), None


def _job(value: Any) -> Job:
    if not fields.is_object(value):
        raise FieldError("job", value, "an object")

    def get(field: str) -> Any:
        return value.get(field, MISSING)

    job_name = fields.text(get("job_name"), "job.job_name", limits.LONGEST_JOB_NAME)
    own_family = value.get("job_family")
    if isinstance(own_family, str) and not own_family.strip():
        own_family = None  # as in an attempt
    if own_family is not None:
        own_family = fields.text(own_family, "job.job_family", limits.LONGEST_JOB_NAME)
    per_host = value.get("accelerators_per_host")
    if per_host is not None:
        per_host = _accelerators(per_host, "job.accelerators_per_host")
    config, _ = fields.scalars(_or_empty(value.get("config")), "job.config")
    return Job(
        family=family_of(job_name, own_family),
        model_type=fields.text(get("model_type"), "job.model_type"),
        num_trainers=fields.integer(
            get("num_trainers"), "job.num_trainers", 1, limits.MOST_TRAINERS
        ),
        batch_size=fields.number(get("batch_size"), "job.batch_size", above=0),
        accelerators_per_host=per_host,
        config=config,
        architecture=fields.numbers(_or_empty(value.get("architecture")), "job.architecture"),
    )


def _accelerators(value: Any, field: str) -> float:
    return fields.number(value, field, above=0, most=limits.MOST_ACCELERATORS_PER_HOST)


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


def _text_or_none(value: Any) -> str | None:
    return value.strip()[: limits.LONGEST_NAME] or None if isinstance(value, str) else None


_LARGER: Final = 8
"""JSON takes fewer times the bytes of marshal's first format, in which what comes again is written
again: control characters six times, and hardly anything else so many."""


def is_small(request: Mapping[str, Any]) -> bool:
    """Whether a size need not be measured: of nearly all, and told in a third of the time."""
    try:
        return _LARGER * len(marshal.dumps(cast(Any, request), 0)) <= limits.MOST_REQUEST_BYTES
    except ValueError:  # something that is no JSON either, or another form of mapping
        return False


def _check_size(request: Mapping[str, Any]) -> None:
    if is_small(request):
        return
    rule = f"JSON of at most {limits.MOST_REQUEST_BYTES // 1024} KB"
    try:
        # In ASCII it is no shorter, and sooner told.
        size = len(json.dumps(request))
        if size > limits.MOST_REQUEST_BYTES:
            size = len(json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError):
        raise FieldError("request", request, rule) from None
    if size > limits.MOST_REQUEST_BYTES:
        raise FieldError("request", f"{size:,} bytes", rule)
