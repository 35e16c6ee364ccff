"""The rules for single values, the same for attempts and for ranking requests.

Values are what a strict JSON reader gives. Every function raises `FieldError` and returns the
value in its one internal form. Text is never taken for a number, a boolean never for an integer.
"""

from collections.abc import Mapping
from datetime import date
from math import isfinite
from typing import Any, TypeAlias

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


def text(value: Any, field: str, longest: int = LONGEST_NAME) -> str:
    """Text with something in it, trimmed, of at most `longest` characters."""
    rule = f"text of 1 to {longest:,} characters"
    if not isinstance(value, str):
        raise FieldError(field, value, rule)
    trimmed = value.strip()
    if not 1 <= len(trimmed) <= longest or not _is_unicode(trimmed):
        raise FieldError(field, value, rule)
    return trimmed


def integer(value: Any, field: str, least: int, most: int) -> int:
    """A whole number between bounds; 64.0 is one, 64.5, true and "64" are none."""
    rule = f"an integer from {least:,} to {most:,}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(field, value, rule)
    if not least <= value <= most or value != int(value):
        raise FieldError(field, value, rule)
    return int(value)


def number(
    value: Any,
    field: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """A finite number within the bounds that are given."""
    as_float = _as_float(value)
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


def boolean(value: Any, field: str) -> bool:
    """true or false, and nothing that looks like one."""
    if not isinstance(value, bool):
        raise FieldError(field, value, "true or false")
    return value


def time(value: Any, field: str) -> int:
    """A time with a zone, as int64 microseconds since 1970-01-01 UTC. Bare numbers have no unit."""
    rule = "an ISO-8601 time with a zone, such as 2026-01-02T09:00:00Z"
    if not isinstance(value, str):
        raise FieldError(field, value, rule)
    try:
        return parse_time(value.strip())
    except (ValueError, OverflowError):
        raise FieldError(field, value, rule) from None


def recent_time(value: Any, field: str, now: int) -> int:
    """A `time` at which something may have happened: from 2015 up to a day after `now`."""
    moment = time(value, field)
    earliest, latest = start_of(date(EARLIEST_YEAR, 1, 1)), now + MOST_AHEAD_US
    if not earliest <= moment <= latest:
        raise FieldError(field, value, f"between {EARLIEST_YEAR} and a day from now")
    return moment


def scalars(value: Any, field: str) -> tuple[dict[str, Scalar], int]:
    """An object of scalars with any names, and how many nested values were dropped from it."""
    kept: dict[str, Scalar] = {}
    dropped = 0
    for name, entry in _entries(value, field):
        path = f"{field}.{name}"
        if isinstance(entry, (Mapping, list, tuple)):
            dropped += 1
        elif entry is None or isinstance(entry, bool):
            kept[name] = entry
        elif isinstance(entry, str):
            if len(entry) > LONGEST_TEXT_VALUE or not _is_unicode(entry):
                raise FieldError(path, entry, f"text of at most {LONGEST_TEXT_VALUE:,} characters")
            kept[name] = entry
        else:
            number(entry, path)
            kept[name] = _whole(entry)
    return kept, dropped


def numbers(value: Any, field: str) -> dict[str, float]:
    """An object of numbers with any names; nulls are left out."""
    return {
        name: number(entry, f"{field}.{name}")
        for name, entry in _entries(value, field)
        if entry is not None
    }


def _whole(value: float) -> float:
    """64.0 as 64: the same value has one form, whatever file it came from."""
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


def _entries(value: Any, field: str) -> list[tuple[str, Any]]:
    rule = f"an object of at most {MOST_ENTRIES:,} named values"
    if not isinstance(value, Mapping) or len(value) > MOST_ENTRIES:
        raise FieldError(field, value, rule)
    for name in value:
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not _is_unicode(name):
            raise FieldError(f"a name in {field}", name, f"text of 1 to {LONGEST_NAME} characters")
    return list(value.items())


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
