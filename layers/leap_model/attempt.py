"""What an attempt is: one completed job attempt on one hardware type (contract section 1)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leap_model import fields, limits
from leap_model.errors import MISSING, FieldError
from leap_model.times import now_us

SCHEMA_VERSION = 1

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One valid attempt. Times are int64 microseconds UTC; what the record lacks is None."""

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
    config: dict[str, fields.Scalar]
    allocation: dict[str, fields.Scalar]
    architecture: dict[str, float]
    duration_s: float | None
    cost_usd: float | None
    utilization: float | None
    ranking: dict[str, Any] | None
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
    get = _getter(record)
    config, dropped_config = fields.scalars(get("config", {}), "config")
    allocation, dropped_allocation = fields.scalars(get("allocation", {}), "allocation")
    values: dict[str, Any] = {
        "attempt_id": fields.text(get("attempt_id"), "attempt_id", limits.LONGEST_ATTEMPT_ID),
        "job_name": fields.text(get("job_name"), "job_name", limits.LONGEST_JOB_NAME),
        "job_family": _optional_text(get("job_family", None), "job_family"),
        "model_type": fields.text(get("model_type"), "model_type"),
        "hardware_type": fields.text(get("hardware_type"), "hardware_type"),
        "num_trainers": fields.integer(
            get("num_trainers"), "num_trainers", 1, limits.MOST_TRAINERS
        ),
        "accelerators_per_host": _optional(
            get, "accelerators_per_host", above=0, most=limits.MOST_ACCELERATORS_PER_HOST
        ),
        "batch_size": fields.number(get("batch_size"), "batch_size", above=0),
        "launched_at": _optional_time(get("launched_at", None), "launched_at"),
        "completed_at": fields.recent_time(
            get("completed_at"), "completed_at", now_us() if now is None else now
        ),
        "throughput": fields.measurement(get("throughput"), "throughput"),
        "config": config,
        "allocation": allocation,
        "architecture": fields.numbers(get("architecture", {}), "architecture"),
        "duration_s": _optional(get, "duration_s", least=0),
        "cost_usd": _optional(get, "cost_usd", least=0),
        "utilization": _optional(get, "utilization", least=0, most=1),
        "ranking": _ranking(get("ranking", None)),
    }
    digest = hashlib.sha256(compact(values).encode()).hexdigest()
    return Attempt(
        **values,
        dropped_values=dropped_config + dropped_allocation,
        record_sha256=digest,
    )


def compact(value: Any) -> str:
    """JSON text that is the same for the same value: keys sorted, no white space, ASCII."""
    return _ENCODER.encode(value)


def _getter(record: Mapping[str, Any]) -> Any:
    """`record[name]`; a null where the field may be absent is the same as its absence."""

    def get(name: str, default: Any = MISSING) -> Any:
        value = record.get(name, default)
        return default if value is None and default is not MISSING else value

    return get


def _optional(get: Any, field: str, **bounds: float) -> float | None:
    value = get(field, None)
    return None if value is None else fields.number(value, field, **bounds)


def _optional_text(value: Any, field: str) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return fields.text(value, field, limits.LONGEST_JOB_NAME)


def _optional_time(value: Any, field: str) -> int | None:
    return None if value is None else fields.time(value, field)


def _ranking(value: Any) -> dict[str, Any] | None:
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
