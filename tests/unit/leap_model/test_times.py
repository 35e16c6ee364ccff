"""Times: microseconds and back, zones, the borders of days, and no influence of the host's zone."""

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.attempt import parse_attempt
from leap_model.limits import DAY_US
from leap_model.times import day_of, format_time, now_us, parse_time, start_of
from tests.support import NOW, attempt

NEW_YEAR = 1_767_225_600_000_000


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01 00:00:00+00:00", NEW_YEAR),
        ("2026-01-01T05:30:00+05:30", NEW_YEAR),
        ("2025-12-31T16:00:00-08:00", NEW_YEAR),
        ("20260101T000000Z", NEW_YEAR),
        ("2026-01-01T00:00:00.25Z", NEW_YEAR + 250_000),
        ("2026-01-01T00:00:00.000001Z", NEW_YEAR + 1),
        ("2024-02-29T12:00:00Z", 1_709_208_000_000_000),
    ],
)
def test_times_with_a_zone_are_read(text: str, microseconds: int) -> None:
    assert parse_time(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00", "1767225600", "1767225600000"),
        *("", "Z", "now", "2026-02-29T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:61Z"),
    ],
)
def test_times_without_a_zone_or_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_time(text)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (NEW_YEAR, "2026-01-01T00:00:00Z"),
        (NEW_YEAR + 250_000, "2026-01-01T00:00:00.250000Z"),
    ],
)
def test_times_are_written_with_z(microseconds: int, text: str) -> None:
    assert format_time(microseconds) == text


AWARE = st.datetimes(timezones=st.timezones()).filter(lambda moment: 1 < moment.year < 9999)


@given(AWARE)
def test_a_time_survives_being_written_and_read(moment: datetime) -> None:
    microseconds = parse_time(moment.isoformat())
    assert parse_time(format_time(microseconds)) == microseconds
    assert day_of(microseconds) == moment.astimezone(UTC).date()


@given(st.dates())
def test_a_day_holds_its_first_and_last_microsecond(day: date) -> None:
    first = start_of(day)
    assert day_of(first) == day_of(first + DAY_US - 1) == day
    if day > date.min:
        assert day_of(first - 1) == day - timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-01-01T23:30:00-08:00", date(2026, 1, 2)),
        ("2026-01-02T00:00:00Z", date(2026, 1, 2)),
        ("2026-01-01T23:59:59.999999Z", date(2026, 1, 1)),
        ("2026-01-02T05:29:59+05:30", date(2026, 1, 1)),
        ("1969-12-31T23:59:59Z", date(1969, 12, 31)),
    ],
)
def test_the_day_is_the_utc_day(text: str, day: date) -> None:
    assert day_of(parse_time(text)) == day


@pytest.fixture(params=["UTC0", "IST-5:30", "PST8PDT,M3.2.0,M11.1.0", "LINT-14"])
def host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The host in some zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_the_zone_of_the_host_changes_nothing(host_zone: str) -> None:
    offset = datetime(2026, 1, 2, tzinfo=UTC).astimezone().utcoffset()
    assert (offset == timedelta(0)) == (host_zone == "UTC0")

    parsed = parse_attempt(attempt(completed_at="2026-01-01T23:30:00-08:00"), NOW)
    assert parsed.completed_at == parse_time("2026-01-02T07:30:00Z")
    assert day_of(parsed.completed_at) == date(2026, 1, 2)
    assert format_time(parsed.completed_at) == "2026-01-02T07:30:00Z"
    assert format_time(start_of(date(2026, 1, 2))) == "2026-01-02T00:00:00Z"
    assert abs(now_us() - time.time() * 1e6) < 60e6
