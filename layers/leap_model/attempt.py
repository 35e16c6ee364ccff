"""What an attempt is: one completed job attempt on one hardware type (contract section 1)."""

import hashlib
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from leap_model import fields, limits
from leap_model.errors import MISSING, FieldError
from leap_model.json_text import as_written, compact
from leap_model.times import now_us

SCHEMA_VERSION = 1


class Attempt(NamedTuple):
    """One valid attempt. Times are int64 microseconds UTC; what the record lacks is None.

    What is open, `config`, `allocation` and `ranking`, is JSON text: as it is stored, and not a
    hundred objects in memory for each of a day's attempts.
    """

    attempt_id: str
    job_name: str
    job_family: str | None
    model_type: str
    hardware_type: str
    num_trainers: int
    accelerators_per_host: float | None
    batch_size: float
    launched_at: int | None
    completed_at: int
    throughput: float | None
    config: str
    allocation: str
    architecture: dict[str, float]
    duration_s: float | None
    cost_usd: float | None
    utilization: float | None
    ranking: str | None
    dropped_values: int
    """Nested values that were left out of config and allocation."""

    record_sha256: str
    """Hex digest of the record, the last tie-break between two records of one attempt id."""


def parse_attempt(record: Any, now: int | None = None) -> Attempt:
    """Check one record against every rule of the contract.

    Parameters
    ----------
    record : any
        What a JSON reader gave; unknown fields are ignored.
    now : int, optional
        The current time in microseconds, by default the clock's.

    Raises
    ------
    FieldError
        The first rule that the record breaks.
    """
    if not isinstance(record, Mapping):
        raise FieldError("attempt", record, "an object")
    # A null where a field may be absent is the same as its absence.
    get = record.get
    config, dropped_config = _scalars(get("config"), "config")
    allocation, dropped_allocation = _scalars(get("allocation"), "allocation")
    per_host, most = get("accelerators_per_host"), limits.MOST_ACCELERATORS_PER_HOST
    architecture = get("architecture")
    values: dict[str, Any] = {
        "attempt_id": fields.text(
            get("attempt_id", MISSING), "attempt_id", limits.LONGEST_ATTEMPT_ID
        ),
        "job_name": fields.text(get("job_name", MISSING), "job_name", limits.LONGEST_JOB_NAME),
        "job_family": _optional_text(get("job_family"), "job_family"),
        "model_type": fields.text(get("model_type", MISSING), "model_type"),
        "hardware_type": fields.text(get("hardware_type", MISSING), "hardware_type"),
        "num_trainers": fields.integer(
            get("num_trainers", MISSING), "num_trainers", 1, limits.MOST_TRAINERS
        ),
        "accelerators_per_host": _optional(per_host, "accelerators_per_host", above=0, most=most),
        "batch_size": fields.number(get("batch_size", MISSING), "batch_size", above=0),
        "launched_at": _optional_time(get("launched_at"), "launched_at"),
        "completed_at": fields.recent_time(
            get("completed_at", MISSING), "completed_at", now_us() if now is None else now
        ),
        "throughput": fields.measurement(get("throughput", MISSING), "throughput"),
        "config": config,
        "allocation": allocation,
        "architecture": {}
        if architecture is None
        else fields.numbers(architecture, "architecture"),
        "duration_s": _optional(get("duration_s"), "duration_s", least=0),
        "cost_usd": _optional(get("cost_usd"), "cost_usd", least=0),
        "utilization": _optional(get("utilization"), "utilization", least=0, most=1),
        "ranking": ranking_of(get("ranking")),
    }
    return attempt_of(values, dropped_config + dropped_allocation)


def attempt_of(values: dict[str, Any], dropped: int) -> Attempt:
    """The attempt of checked values, all fields but the last two and in their order, and of how
    many nested values were left out of them."""
    open_ones = {name: compact(values[name]) for name in ("config", "allocation")}
    if values["ranking"] is not None:
        open_ones["ranking"] = compact(values["ranking"])
    digest = _digest(values, open_ones)
    values.update(open_ones)
    return Attempt._make((*values.values(), dropped, digest))


def _digest(values: Mapping[str, Any], written: Mapping[str, str]) -> str:
    """Of what a record says, whatever the order and spelling in which it says it; some of it is
    written already."""
    again: dict[str, Any] = {name: as_written(text) for name, text in written.items()}
    throughput = values["throughput"]
    if throughput is not None and not isfinite(throughput):
        again["throughput"] = repr(throughput)  # JSON has no number for it
    return hashlib.sha256(compact({**values, **again}).encode()).hexdigest()


def _scalars(value: Any, field: str) -> tuple[dict[str, fields.Scalar], int]:
    return ({}, 0) if value is None else fields.scalars(value, field)


def _optional(value: Any, field: str, **bounds: float) -> float | None:
    return None if value is None else fields.number(value, field, **bounds)


def _optional_text(value: Any, field: str) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return fields.text(value, field, limits.LONGEST_JOB_NAME)


def _optional_time(value: Any, field: str) -> int | None:
    return None if value is None else fields.time(value, field)


def ranking_of(value: Any) -> dict[str, Any] | None:
    """What of a ranking an attempt keeps; raises FieldError."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise FieldError("ranking", value, "an object")
    kept: dict[str, Any] = {
        name: _optional_text(value[name], f"ranking.{name}")
        for name in ("ranking_id", "model_version", "reason")
        if name in value
    }
    if "preference" in value:
        preference = value["preference"]
        rule = f"a list of at most {limits.MOST_CANDIDATES:,} hardware types"
        if not isinstance(preference, list) or len(preference) > limits.MOST_CANDIDATES:
            raise FieldError("ranking.preference", preference, rule)
        kept["preference"] = [fields.text(name, "ranking.preference") for name in preference]
    return kept
