"""Records in, attempts and rejected lines out: what `leap import` and the ingest function share.

A record that breaks a rule never blocks its neighbours and is never lost.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

from leap_model import limits
from leap_model.attempt import Attempt
from leap_model.attempts import parse_attempts
from leap_model.errors import FieldError, StoreError
from leap_model.json_text import read_json
from leap_model.reading import IDENTITY, day_keys, read_days
from leap_model.rejected import Rejected, write_rejected
from leap_model.store import Store
from leap_model.table import by_day, write_day
from leap_model.times import day_of

_TOGETHER = 200
"""Records whose columns are checked at once, few enough to stay in the cache of a processor."""


class Record(NamedTuple):
    """One record as it arrived: its bytes, and its JSON value or, in `fault`, what is wrong.

    A `fault` that is text is the rule that the record as a whole breaks.
    """

    body: bytes
    value: Any = None
    fault: str | FieldError | None = None
    origin: str = ""
    """What its sender knows it by, such as the message that brought it."""
    received_at: int | None = None
    """Microseconds; by default it arrives when it is taken in."""

    @classmethod
    def of_json(cls, body: bytes, read: Callable[[bytes], Any] = read_json) -> "Record":
        """A record from JSON text. NaN and infinities pass here: their fields decide."""
        value, fault = value_of(body, read)
        return cls(body, value, fault)


def value_of(body: bytes, read: Callable[[bytes], Any] = read_json) -> tuple[Any, str | None]:
    """The JSON value of a record, or the rule that its bytes break."""
    if len(body) > limits.MOST_RECORD_BYTES:
        return None, f"at most {limits.MOST_RECORD_BYTES:,} bytes"
    try:
        return read(body), None
    except (ValueError, RecursionError):
        return None, "one JSON object in UTF-8"


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


@dataclass(frozen=True, slots=True)
class Unstored:
    """The origins of records that an object of the store was to hold, and why it could not be
    written."""

    fault: StoreError
    origins: tuple[str, ...]


def take_in(
    store: Store,
    records: Iterable[Record],
    counts: Counts,
    now: int,
    *,
    look_up: bool = True,
    unstored: list[Unstored] | None = None,
) -> None:
    """Store a batch of records, adding to the counts.

    Parameters
    ----------
    store : Store
        Where attempts and rejected lines go.
    records : iterable of Record
        One batch. Their attempts are held in memory, the records are not.
    counts : Counts
        Added to.
    now : int
        The time of arrival of those records that do not say theirs, in microseconds.
    look_up : bool
        Whether to read the attempts' days first, so that none is written twice and duplicates are
        counted exactly. Without, nothing is read and the same batch again still writes nothing,
        but an attempt in two different batches is stored in both: readers keep one.
    unstored : list of Unstored, optional
        Added to, a partition that cannot be written at a time, while the others are stored.
        By default the first one that cannot be written ends it.

    Raises
    ------
    StoreError
        The days cannot be read, or, without `unstored`, a partition cannot be written.
    """
    with _no_cycles_sought():
        batch = _sorted_out(records, counts, now)
    attempts = batch.attempts
    known = _digests(store, list(attempts.values())) if look_up else set()
    new = [attempt for attempt in attempts.values() if attempt.record_sha256 not in known]
    sources = batch.sources
    counts.duplicates += sum(map(len, sources.values())) - len(new)
    for day, group in by_day(new):
        origins = (origin for attempt in group for origin in sources[attempt.attempt_id])
        with setting_aside(unstored, origins):
            written = write_day(store, day, group, now)
            counts.stored += len(group) if written else 0
            counts.duplicates += 0 if written else len(group)
    _keep_rejected(store, batch.rejected, counts, unstored)


@contextmanager
def setting_aside(unstored: list[Unstored] | None, origins: Iterable[str]) -> Iterator[None]:
    """Where there is such a list, a StoreError adds to it and goes no further."""
    try:
        yield
    except StoreError as fault:
        if unstored is None:
            raise
        unstored.append(Unstored(fault, tuple(origins)))


@contextmanager
def _no_cycles_sought() -> Iterator[None]:
    """A batch makes hundreds of thousands of objects, and no cycles: Python would look through all
    of them for some, again and again, for a sixth of the time."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


@dataclass(slots=True)
class _Batch:
    """Attempts by id, each the last of its records; the origins of all of an id's records; and what
    is wrong, each with its origin."""

    attempts: dict[str, Attempt] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: list[tuple[str, Rejected]] = field(default_factory=list)


def _sorted_out(records: Iterable[Record], counts: Counts, now: int) -> _Batch:
    batch, left = _Batch(), iter(records)
    while together := list(islice(left, _TOGETHER)):
        counts.read += len(together)
        for record, arrived, parsed in _parsed(together, now):
            if isinstance(parsed, FieldError):
                batch.rejected.append((record.origin, Rejected(record.body, parsed, arrived)))
                continue
            counts.dropped_values += parsed.dropped_values
            others = batch.sources.get(parsed.attempt_id, ())
            batch.sources[parsed.attempt_id] = (*others, record.origin)
            other = batch.attempts.get(parsed.attempt_id)
            if other is None or _supersedes(parsed, other):
                batch.attempts[parsed.attempt_id] = parsed
    return batch


def _parsed(
    records: Sequence[Record], now: int
) -> Iterator[tuple[Record, int, Attempt | FieldError]]:
    """Each record, when it arrived, and what it says or is wrong with it."""
    arrived = [now if record.received_at is None else record.received_at for record in records]
    sound = [at for at, record in enumerate(records) if record.fault is None]
    values, moments = [records[at].value for at in sound], [arrived[at] for at in sound]
    attempts = iter(parse_attempts(values, moments))
    for record, moment in zip(records, arrived, strict=True):
        fault = record.fault
        if fault is None:
            yield record, moment, next(attempts)
        elif isinstance(fault, FieldError):
            yield record, moment, fault
        else:
            begins = record.body[:100].decode("utf-8", "replace")
            yield record, moment, FieldError("record", begins, fault)


def _supersedes(attempt: Attempt, other: Attempt) -> bool:
    later = (attempt.completed_at, attempt.record_sha256)
    return later > (other.completed_at, other.record_sha256)


def _digests(store: Store, attempts: Sequence[Attempt]) -> set[str]:
    """Digests of the records that the attempts' own days hold already."""
    days = {day_of(attempt.completed_at) for attempt in attempts}
    held = [(day, keys) for day in sorted(days) if (keys := day_keys(store, day))]
    read = read_days(store, held, IDENTITY)
    return set(read.table["record_sha256"].to_pylist())


def _keep_rejected(
    store: Store,
    rejected: Sequence[tuple[str, Rejected]],
    counts: Counts,
    unstored: list[Unstored] | None,
) -> None:
    """Write the rejected lines of each day of arrival, and count those that are on record."""
    days: dict[date, list[tuple[str, Rejected]]] = {}
    for origin, line in rejected:
        days.setdefault(day_of(line.received_at), []).append((origin, line))
    for day, group in sorted(days.items()):
        with setting_aside(unstored, (origin for origin, _ in group)):
            lines = [line for _, line in group]
            write_rejected(store, day, lines)
            counts.rejected += len(lines)
            counts.rejected_reasons.update(line.rule for line in lines)
