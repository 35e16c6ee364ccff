"""Which day a row belongs to, which days train, and which one judges."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from functions.retrain.material import material_of
from functions.retrain.nights import read_past
from functions.retrain.window import Window, evaluation_day
from leap_model.errors import TrainingError
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import day_of, start_of
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import (
    AS_OF,
    FEW,
    TINY,
    add,
    night,
    pointer_of,
    put_attempts,
    rows_between,
)

DAYS = [date(2026, 1, 1) + timedelta(days=at) for at in range(10)]


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/Los_Angeles"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("completed_at", "day"),
    [
        ("2026-01-01T23:30:00-08:00", "2026-01-02"),
        ("2026-01-02T00:00:00Z", "2026-01-02"),
        ("2026-01-01T23:59:59.999999Z", "2026-01-01"),
        ("2026-01-02T03:00:00+05:30", "2026-01-01"),
        ("2026-01-02T05:30:00+05:30", "2026-01-02"),
    ],
)
@pytest.mark.usefixtures("zone")
def test_an_attempt_is_filed_under_the_utc_day_of_its_completion(
    store: LocalStore, completed_at: str, day: str
) -> None:
    filled(store.root, [attempt(completed_at=completed_at)])
    assert [key.split("/")[1] for key in store.keys("attempts")] == [f"dt={day}"]
    start = date.fromisoformat(day)
    assert len(rows_between(store, start, start + timedelta(days=1))) == 1


def test_a_late_record_is_filed_under_its_own_day(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    plain = night(store)
    late = attempt(attempt_id="late", completed_at="2026-01-04T12:00:00Z")
    add(store, [late])  # arrives weeks later
    assert night(store)["rows"] == plain["rows"] + 1
    assert night(store)["evaluation"]["attempts"] == plain["evaluation"]["attempts"]


def test_rows_count_by_their_own_time_and_not_by_their_folder(store: LocalStore) -> None:
    attempts = fleet(300)
    filled(store.root, attempts)
    plain = night(store)
    judged = [
        attempt(attempt_id=f"misfiled-{at}", completed_at="2026-01-10T01:00:00Z") for at in range(9)
    ]
    put_attempts(store, "2026-01-05", "misfiled.parquet", judged)
    moved = night(store)
    assert moved["rows"] == plain["rows"]
    assert moved["evaluation"]["attempts"] == plain["evaluation"]["attempts"] + 9


def test_rows_misfiled_under_the_evaluation_day_train(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    plain = night(store)
    early = attempt(attempt_id="early", completed_at="2026-01-05T01:00:00Z")
    put_attempts(store, "2026-01-10", "misfiled.parquet", [early])
    moved = night(store)
    assert moved["rows"] == plain["rows"] + 1
    assert moved["evaluation"]["attempts"] == plain["evaluation"]["attempts"]


@pytest.mark.parametrize("days", [1, 2, 5, 9, 30, 36_500])
def test_the_window_is_the_days_before_the_evaluation_day(store: LocalStore, days: int) -> None:
    attempts = fleet(300)
    filled(store.root, attempts)
    metrics = night(store, settings=replace(FEW, window_days=days))
    window, evaluation = metrics["window"], metrics["evaluation"]
    assert window["to"] == "2026-01-09"
    assert window["from"] == max(date(1970, 1, 1), date(2026, 1, 10) - timedelta(days)).isoformat()
    assert (evaluation["from"], evaluation["to"]) == ("2026-01-10", "2026-01-10")
    assert window["to"] < evaluation["from"]
    inside = [a for a in attempts if window["from"] <= a["completed_at"][:10] <= window["to"]]
    judged = [a for a in attempts if a["completed_at"][:10] == "2026-01-10"]
    assert (metrics["rows"], evaluation["attempts"]) == (len(inside), len(judged))


def test_what_completed_on_or_after_the_date_is_not_known(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    plain = night(store)
    add(store, [attempt(attempt_id="x", completed_at="2026-01-11T00:00:00Z")])
    assert night(store)["manifest_sha256"] == plain["manifest_sha256"]


@pytest.mark.parametrize("as_of", [date(2026, 1, 11), date(2026, 1, 20), date(2027, 6, 1)])
def test_the_evaluation_day_is_the_last_one_with_attempts(as_of: date) -> None:
    assert evaluation_day(as_of, DAYS) == date(2026, 1, 10)


def test_the_evaluation_day_lies_before_the_date() -> None:
    assert evaluation_day(date(2026, 1, 10), DAYS) == date(2026, 1, 9)


def test_without_an_earlier_day_there_is_none() -> None:
    with pytest.raises(TrainingError, match="no attempts that completed before 2026-01-01"):
        evaluation_day(date(2026, 1, 1), DAYS)


def test_missing_days_are_listed_at_the_ends_and_in_the_middle(store: LocalStore) -> None:
    gone = ("2026-01-01", "2026-01-05", "2026-01-09")
    attempts = [a for a in fleet(400) if a["completed_at"][:10] not in gone]
    filled(store.root, attempts)
    metrics = night(store)
    assert metrics["window"]["missing_days"] == list(gone)
    assert metrics["rows"] == sum(a["completed_at"][:10] < "2026-01-10" for a in attempts)


def test_a_window_lists_exactly_its_days_both_ends_included() -> None:
    window = Window.before(date(2026, 1, 31), 30, [date(2026, 1, 2), date(2026, 1, 31)])
    assert window.to_json()["from"] == "2026-01-01"
    assert window.to_json()["to"] == "2026-01-30"
    assert len(window.missing) == 29
    assert date(2026, 1, 2) not in window.missing


def test_days_long_past_leave_nothing_to_train_on(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    far = [attempt(attempt_id="far", completed_at="2026-02-27T00:00:00Z")]
    add(store, far)
    with pytest.raises(TrainingError, match="0 attempts with a usable throughput on 0 days"):
        night(store, date(2026, 2, 28))
    assert pointer_of(store) is None


@pytest.mark.parametrize(("least", "trains"), [(9, True), (10, False)])
def test_too_few_days_train_nothing(store: LocalStore, least: int, trains: bool) -> None:
    filled(store.root, fleet(300))
    settings = replace(TINY, min_days=least)
    if trains:
        assert night(store, AS_OF, settings)["pointed"]
        return
    with pytest.raises(TrainingError, match="on 9 days"):
        night(store, AS_OF, settings)
    assert pointer_of(store) is None
    assert store.keys("models") == []


@pytest.mark.parametrize(("days", "first"), [(1, 7), (4, 7), (5, 6), (6, 5), (365, 1)])
def test_histories_are_of_so_many_days_and_never_of_fewer_than_train(
    tmp_path: Path, days: int, first: int
) -> None:
    store = filled(tmp_path, fleet(200))
    settings = replace(FEW, window_days=3, history_days=days)
    read = material_of(store, AS_OF, stored_catalogue(store), settings)
    assert read.window.start == date(2026, 1, 7)
    assert day_of(int(read.outcomes.completed_at.min())) == date(2026, 1, first)
    # A backtest's night has no day that judges before it.
    past = read_past(store, replace(settings, window_days=4), 1, AS_OF, 1)
    known = past.records.outcomes_before(start_of(AS_OF))
    assert day_of(int(known.completed_at.min())) == date(2026, 1, first)
