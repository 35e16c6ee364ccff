"""Records in, attempts and rejected lines out: what `leap import` and the ingest function share.

A record that breaks a rule never blocks its neighbours and is never lost.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from leap_model import limits
from leap_model.attempt import Attempt, parse_attempt
from leap_model.errors import FieldError
from leap_model.reading import IDENTITY, day_keys, read_days
from leap_model.store import Store
from leap_model.table import write_attempts
from leap_model.times import day_of, format_time


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it arrived: its bytes, and its JSON value or, in `fault`, what it must be."""

    body: bytes
    value: Any = None
    fault: str | None = None

    @classmethod
    def of_json(cls, body: bytes) -> "Record":
        """A record from JSON text. NaN and infinities pass here: their fields decide."""
        if len(body) > limits.MOST_RECORD_BYTES:
            return cls(body, fault=f"at most {limits.MOST_RECORD_BYTES:,} bytes")
        try:
            return cls(body, json.loads(body.decode("utf-8")))
        except (ValueError, RecursionError):
            return cls(body, fault="one JSON object in UTF-8")


@dataclass(slots=True)
class Counts:
    """What became of the records; `rejected_reasons` counts by rule, never by value."""

    read: int = 0
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    dropped_values: int = 0
    rejected_reasons: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """The document of contract section 6."""
        return {
            "read": self.read,
            "stored": self.stored,
            "duplicates": self.duplicates,
            "rejected": self.rejected,
            "rejected_reasons": dict(sorted(self.rejected_reasons.items())),
            "dropped_values": self.dropped_values,
        }


def take_in(store: Store, records: Iterable[Record], counts: Counts, now: int) -> None:
    """Store a batch of records, adding to the counts.

    Parameters
    ----------
    store : Store
        Where attempts and rejected lines go.
    records : iterable of Record
        One batch; it is held in memory.
    counts : Counts
        Added to.
    now : int
        The time of arrival, in microseconds.
    """
    attempts: dict[str, Attempt] = {}
    rejected: list[dict[str, Any]] = []
    for record in records:
        counts.read += 1
        try:
            attempt = _parse(record, now)
        except FieldError as fault:
            counts.rejected += 1
            counts.rejected_reasons[_rule(fault)] += 1
            rejected.append(_rejected(record, fault, now))
            continue
        counts.dropped_values += attempt.dropped_values
        other = attempts.get(attempt.attempt_id)
        counts.duplicates += other is not None
        if other is None or _supersedes(attempt, other):
            attempts[attempt.attempt_id] = attempt
    known = _digests(store, list(attempts.values()))
    new = [attempt for attempt in attempts.values() if attempt.record_sha256 not in known]
    counts.duplicates += len(attempts) - len(new)
    write_attempts(store, new, now)
    counts.stored += len(new)
    _write_rejected(store, rejected, now)


def _parse(record: Record, now: int) -> Attempt:
    if record.fault is not None:
        raise FieldError("record", record.body[:100].decode("utf-8", "replace"), record.fault)
    return parse_attempt(record.value, now)


def _rule(fault: FieldError) -> str:
    """The rule that was broken, without the names that senders give to their own values."""
    field, dot, _ = fault.field.partition(".")
    return f"{field}.* must be {fault.rule}" if dot else f"{field} must be {fault.rule}"


def _supersedes(attempt: Attempt, other: Attempt) -> bool:
    later = (attempt.completed_at, attempt.record_sha256)
    return later > (other.completed_at, other.record_sha256)


def _digests(store: Store, attempts: Sequence[Attempt]) -> set[str]:
    """Digests of the records that the attempts' own days hold already."""
    days = {day_of(attempt.completed_at) for attempt in attempts}
    held = [(day, keys) for day in sorted(days) if (keys := day_keys(store, day))]
    read = read_days(store, held, IDENTITY)
    return set(read.table["record_sha256"].to_pylist())


def _rejected(record: Record, fault: FieldError, now: int) -> dict[str, Any]:
    line = {"reason": str(fault), "field": fault.field, "received_at": format_time(now)}
    try:
        return {**line, "body": record.body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**line, "body_base64": base64.b64encode(record.body).decode("ascii")}


def _write_rejected(store: Store, lines: Sequence[dict[str, Any]], now: int) -> None:
    if not lines:
        return
    bodies = "\n".join(line["body"] if "body" in line else line["body_base64"] for line in lines)
    digest = hashlib.sha256(bodies.encode()).hexdigest()[:32]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    store.create(f"rejected/dt={day_of(now).isoformat()}/{digest}.jsonl", content.encode())
