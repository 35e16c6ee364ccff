"""Times: ISO-8601 text outside, int64 microseconds since 1970-01-01 UTC inside."""

from datetime import UTC, date, datetime, timedelta

from leap_model.limits import DAY_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def parse_time(text: str) -> int:
    """Microseconds of an ISO-8601 time with a zone.

    Raises
    ------
    ValueError
        The text is no such time, or has no zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs a zone")
    return (moment - _EPOCH) // _MICROSECOND


def format_time(microseconds: int) -> str:
    """ISO-8601 text with `Z`, with microseconds only where there are any."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat() + "Z"


def now_us() -> int:
    """The current time."""
    return (datetime.now(UTC) - _EPOCH) // _MICROSECOND


def day_of(microseconds: int) -> date:
    """The UTC day that a time lies in."""
    return date(1970, 1, 1) + timedelta(days=microseconds // DAY_US)


def start_of(day: date) -> int:
    """00:00 UTC of a day."""
    return (day - date(1970, 1, 1)).days * DAY_US
