"""Attempts of many records at once, a column at a time.

A column is taken whole where all of it is as nearly every record has it, else a value at a time.
What it does not take, blank, odd or wrong, it leaves to `parse_attempt`: that alone says what such
a record means, or which rule it breaks. A column never refuses one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import inf, isfinite
from types import NoneType
from typing import Any, Final, TypeAlias

from leap_model import fields, limits
from leap_model.attempt import Attempt, attempt_of, parse_attempt, ranking_of
from leap_model.errors import FieldError
from leap_model.times import parse_time

Taken: TypeAlias = Callable[[Sequence[Any]], list[Any] | None]
"""Values in their internal form; None where some value is not as nearly every record has it."""

_SCALARS: Final = {str, bool, int, float, NoneType}


def parse_attempts(records: Sequence[Any], arrived: Sequence[int]) -> list[Attempt | FieldError]:
    """What `parse_attempt` gives, or raises, for each record, which arrived at such a time."""
    if not records:
        return []
    rows = [record if type(record) is dict else {} for record in records]
    odd: set[int] = set()
    columns: dict[str, list[Any]] = {}
    for name, take in _COLUMNS.items():
        values = [row.get(name) for row in rows]
        columns[name] = take(values) or list(_one_by_one(values, take, odd))
    odd |= set(_out_of_time(columns["completed_at"], arrived))
    every = zip(*columns.values(), strict=True)
    return [
        _alone(records[at], arrived[at])
        if at in odd
        else attempt_of(dict(zip(columns, row, strict=True)), 0)
        for at, row in enumerate(every)
    ]


def _alone(record: Any, arrived: int) -> Attempt | FieldError:
    try:
        return parse_attempt(record, arrived)
    except FieldError as fault:
        return fault


def _one_by_one(values: Sequence[Any], take: Taken, odd: set[int]) -> Iterator[Any]:
    for at, value in enumerate(values):
        taken = take((value,))
        if taken is None:
            odd.add(at)
        yield taken and taken[0]


def _out_of_time(moments: Iterable[int | None], arrived: Iterable[int]) -> Iterator[int]:
    """The rows whose attempts completed when none can have; an odd time is odd already."""
    for at, (moment, now) in enumerate(zip(moments, arrived, strict=True)):
        if moment is not None and not fields.is_recent(moment, now):
            yield at


def _texts(values: Sequence[Any], *, longest: int, absent: bool = False) -> list[Any] | None:
    kinds = set(map(type, values))
    texts = values
    if absent and NoneType in kinds:
        texts = [value for value in values if value is not None]
        kinds.discard(NoneType)
    if kinds - {str} or not all(texts):
        return None
    plain = "".join(texts).isascii() and max(map(len, texts), default=0) <= longest
    return list(values) if plain and all(text == text.strip() for text in texts) else None


def _integers(values: Sequence[Any], *, least: int, most: int) -> list[Any] | None:
    plain = set(map(type, values)) == {int} and least <= min(values) and max(values) <= most
    return list(values) if plain else None


def _numbers(
    values: Sequence[Any],
    *,
    above: float = -inf,
    least: float = -inf,
    most: float = inf,
    absent: bool = True,
    finite: bool = True,
) -> list[Any] | None:
    if set(map(type, values)) - ({int, float, NoneType} if absent else {int, float}):
        return None
    try:
        found = [value if value is None else float(value) for value in values]
    except OverflowError:
        return None
    some = [value for value in found if value is not None]
    if finite and some and not (all(map(isfinite, some)) and _within(some, above, least, most)):
        return None
    return found


def _within(some: Sequence[float], above: float, least: float, most: float) -> bool:
    lowest = min(some)
    return lowest > above and lowest >= least and max(some) <= most


def _times(values: Sequence[Any], *, absent: bool) -> list[Any] | None:
    if set(map(type, values)) - ({str, NoneType} if absent else {str}):
        return None
    try:
        return [value if value is None else parse_time(value.strip()) for value in values]
    except (ValueError, OverflowError):
        return None


def _objects(values: Sequence[Any]) -> tuple[list[dict[str, Any]], list[Any], set[type]] | None:
    """Open objects, all of their values, and those values' types."""
    if set(map(type, values)) - {dict, NoneType}:
        return None
    objects = [value or {} for value in values]
    if max(map(len, objects)) > limits.MOST_ENTRIES:
        return None
    if not all(map(fields.is_name, set(chain.from_iterable(objects)))):
        return None
    inside = list(chain.from_iterable(entries.values() for entries in objects))
    return objects, inside, set(map(type, inside))


def _are_exact(numbers: Iterable[Any]) -> bool:
    return all(-fields.EXACT < value < fields.EXACT for value in numbers if type(value) is int)


def _scalars(values: Sequence[Any]) -> list[Any] | None:
    read = _objects(values)
    if read is None:
        return None
    objects, inside, kinds = read
    if kinds - _SCALARS or not _are_exact(inside):
        return None
    texts = [value for value in inside if type(value) is str]
    longest = max(map(len, texts), default=0)
    floats = [value for value in inside if type(value) is float]
    if longest > limits.LONGEST_TEXT_VALUE or not "".join(texts).isascii():
        return None
    if not all(map(isfinite, floats)):
        return None
    if any(map(float.is_integer, floats)):
        whole = fields.whole
        return [
            {name: whole(value) if type(value) is float else value for name, value in own.items()}
            for own in objects
        ]
    return objects


def _named_numbers(values: Sequence[Any]) -> list[Any] | None:
    read = _objects(values)
    if read is None:
        return None
    objects, inside, kinds = read
    if kinds - {int, float} or not _are_exact(inside) or not all(map(isfinite, inside)):
        return None
    return [dict(zip(own, map(float, own.values()), strict=True)) for own in objects]


def _rankings(values: Sequence[Any]) -> list[Any] | None:
    try:
        return [value if value is None else ranking_of(value) for value in values]
    except FieldError:
        return None


_COLUMNS: Final[dict[str, Taken]] = {
    "attempt_id": partial(_texts, longest=limits.LONGEST_ATTEMPT_ID),
    "job_name": partial(_texts, longest=limits.LONGEST_JOB_NAME),
    "job_family": partial(_texts, longest=limits.LONGEST_JOB_NAME, absent=True),
    "model_type": partial(_texts, longest=limits.LONGEST_NAME),
    "hardware_type": partial(_texts, longest=limits.LONGEST_NAME),
    "num_trainers": partial(_integers, least=1, most=limits.MOST_TRAINERS),
    "accelerators_per_host": partial(_numbers, above=0, most=limits.MOST_ACCELERATORS_PER_HOST),
    "batch_size": partial(_numbers, above=0, absent=False),
    "launched_at": partial(_times, absent=True),
    "completed_at": partial(_times, absent=False),
    "throughput": partial(_numbers, finite=False),
    "config": _scalars,
    "allocation": _scalars,
    "architecture": _named_numbers,
    "duration_s": partial(_numbers, least=0),
    "cost_usd": partial(_numbers, least=0),
    "utilization": partial(_numbers, least=0, most=1),
    "ranking": _rankings,
}
