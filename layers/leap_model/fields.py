"""The rules for single values, the same for attempts and for ranking requests.

Values are what a strict JSON reader gives. Every function raises `FieldError` and returns the
value in its one internal form. Text is never taken for a number, a boolean never for an integer.
"""

from collections.abc import ItemsView, Mapping
from datetime import date
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias, TypeGuard

from leap_model.errors import MISSING, FieldError
from leap_model.limits import (
    EARLIEST_YEAR,
    LONGEST_NAME,
    LONGEST_TEXT_VALUE,
    MOST_AHEAD_US,
    MOST_ENTRIES,
)
from leap_model.times import parse_time, start_of

Scalar: TypeAlias = str | float | int | bool | None

EXACT = 2**53
"""Whole numbers up to it are told apart by a float."""
_NUMBERS = frozenset((int, float))
_EARLIEST = start_of(date(EARLIEST_YEAR, 1, 1))


def text(value: Any, field: str, longest: int = LONGEST_NAME) -> str:
    """Text with something in it, trimmed, of at most `longest` characters."""
    if isinstance(value, str):
        trimmed = value.strip()
        if 1 <= len(trimmed) <= longest and _is_unicode(trimmed):
            return trimmed
    raise FieldError(field, value, f"text of 1 to {longest:,} characters")


def integer(value: Any, field: str, least: int, most: int) -> int:
    """A whole number between bounds; 64.0 is one, 64.5, true and "64" are none."""
    if type(value) is int and least <= value <= most:
        return value
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and least <= value <= most
        and value == int(value)
    ):
        return int(value)
    raise FieldError(field, value, f"an integer from {least:,} to {most:,}")


def number(
    value: Any,
    field: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """A finite number within the bounds that are given."""
    as_float = value if type(value) is float else _as_float(value)
    if (
        as_float is None
        or not isfinite(as_float)
        or (above is not None and as_float <= above)
        or (least is not None and as_float < least)
        or (most is not None and as_float > most)
    ):
        raise FieldError(field, value, _number_rule(above, least, most))
    return as_float


def measurement(value: Any, field: str) -> float | None:
    """A measured number: null, zero, negative and non-finite ones are kept as they came."""
    if value is None or value is MISSING:
        return None
    as_float = _as_float(value)
    if as_float is None:
        raise FieldError(field, value, "a number or null")
    return as_float


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object, or what Python has for one."""
    return type(value) is dict or isinstance(value, Mapping)  # the former is told much sooner


def boolean(value: Any, field: str) -> bool:
    """true or false, and nothing that looks like one."""
    if not isinstance(value, bool):
        raise FieldError(field, value, "true or false")
    return value


def time(value: Any, field: str) -> int:
    """A time with a zone, as int64 microseconds since 1970-01-01 UTC. Bare numbers have no unit."""
    try:
        if isinstance(value, str):
            return parse_time(value.strip())
    except (ValueError, OverflowError):
        pass
    raise FieldError(field, value, "an ISO-8601 time with a zone, such as 2026-01-02T09:00:00Z")


def recent_time(value: Any, field: str, now: int) -> int:
    """A `time` at which something may have happened: from 2015 up to a day after `now`."""
    moment = time(value, field)
    if not is_recent(moment, now):
        raise FieldError(field, value, f"between {EARLIEST_YEAR} and a day from now")
    return moment


def is_recent(moment: int, now: int) -> bool:
    """Whether something may have happened then: from 2015 up to a day after `now`."""
    return _EARLIEST <= moment <= now + MOST_AHEAD_US


def scalars(value: Any, field: str) -> tuple[dict[str, Scalar], int]:
    """An object of scalars with any names, and how many nested values were dropped from it."""
    kept: dict[str, Scalar] = {}
    dropped = 0
    for name, entry in _entries(value, field):
        kind = type(entry)
        if kind is str:
            if len(entry) > LONGEST_TEXT_VALUE or not _is_unicode(entry):
                rule = f"text of at most {LONGEST_TEXT_VALUE:,} characters"
                raise FieldError(f"{field}.{name}", entry, rule)
            kept[name] = entry
        elif entry is None or kind is bool or (kind is int and -EXACT < entry < EXACT):
            kept[name] = entry
        elif isinstance(entry, (Mapping, list, tuple)):
            dropped += 1
        else:
            number(entry, f"{field}.{name}")
            kept[name] = whole(entry)
    return kept, dropped


def numbers(value: Any, field: str) -> dict[str, float]:
    """An object of numbers with any names; nulls are left out."""
    return {
        name: float(entry)
        if type(entry) in _NUMBERS and -EXACT < entry < EXACT
        else number(entry, f"{field}.{name}")
        for name, entry in _entries(value, field)
        if entry is not None
    }


def whole(value: Any) -> float:
    """64.0 as 64, and what 64 bits do not hold as a float: the same value has one form, whatever
    file and reader it came from."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    return value if -(2**63) <= value < 2**64 else float(value)


def _entries(value: Any, field: str) -> ItemsView[str, Any]:
    if not is_object(value) or len(value) > MOST_ENTRIES:
        raise FieldError(field, value, f"an object of at most {MOST_ENTRIES:,} named values")
    for name in value:
        if not is_name(name):
            raise FieldError(f"a name in {field}", name, f"text of 1 to {LONGEST_NAME} characters")
    return value.items()


@lru_cache(maxsize=4096)
def is_name(name: Any) -> bool:
    """Whether it can name an entry. Kept, because the same few names come again and again."""
    return isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and _is_unicode(name)


def _as_float(value: Any) -> float | None:
    """The value as a float (infinite where it is too large for one), or None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _is_unicode(value: str) -> bool:
    """Whether UTF-8 can carry the text: JSON can smuggle in half of a surrogate pair."""
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


def _number_rule(above: float | None, least: float | None, most: float | None) -> str:
    bounds = [
        f"above {above:g}" if above is not None else "",
        f"at least {least:g}" if least is not None else "",
        f"at most {most:g}" if most is not None else "",
    ]
    named = " and ".join(bound for bound in bounds if bound)
    return f"a finite number {named}".rstrip()
