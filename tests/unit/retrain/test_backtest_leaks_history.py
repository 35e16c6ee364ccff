"""What a row's history holds had completed before the day of the row's launch."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest

from functions.retrain import training
from functions.retrain.backtest import Plan, backtest
from functions.retrain.comparators import COMPARATORS
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.nights import Night
from leap_model.columns import Floats, Ints
from leap_model.history import History
from leap_model.limits import DAY_US
from leap_model.store import LocalStore
from leap_model.times import parse_time, start_of
from tests.support import attempt, fleet
from tests.unit.retrain.leaks import (
    AGAIN,
    LATE,
    SETTINGS,
    Runs,
    Seen,
    completed_again,
    messy,
    stored,
    usable,
    watching,
)
from tests.unit.retrain.nights import FEW, night

COLUMNS = ("last", "mean", "std", "runs", "days_since_last")

pytestmark = pytest.mark.usefixtures("small_estimators")


def _launch(run: Mapping[str, Any]) -> int:
    """As documented: as stated, else completion minus duration, and never after completion."""
    completed = parse_time(run["completed_at"])
    if run["launched_at"] is not None:
        return min(parse_time(run["launched_at"]), completed)
    return completed - int((run["duration_s"] or 0) * 1_000_000)


def _known(runs: Runs, before: int) -> Runs:
    """The last record of each attempt among those that completed before a moment."""
    last: dict[str, dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: parse_time(run["completed_at"])):
        if parse_time(run["completed_at"]) < before:
            last[run["attempt_id"]] = run
    return [last[name] for name in sorted(last)]


def _judged_by_hand(runs: Runs, start: date, end: date) -> Runs:
    """What completed in a span, without the attempts of which anything was known before it."""
    before = {run["attempt_id"] for run in _known(runs, start_of(start))}
    known = usable(_known(runs, start_of(end)))
    return [run for run in known if run["attempt_id"] not in before]


def _history_by_hand(
    asked: Runs, known: Runs, latest: int | None = None, *, online: bool = False
) -> Floats:
    """(rows, 5) the history of each attempt, from the records themselves, one at a time; online it
    reaches to the launch."""
    rows = []
    for run in asked:
        launch = _launch(run)
        before = launch if online else launch - launch % DAY_US
        before = before if latest is None else min(before, latest)
        seen = sorted(
            (parse_time(other["completed_at"]), float(np.log(other["throughput"])))
            for other in usable(known)
            if other["job_family"] == run["job_family"]
            and parse_time(other["completed_at"]) < before
        )
        if not seen:
            rows.append((np.nan, np.nan, np.nan, 0.0, np.nan))
            continue
        logs = [log for _, log in seen]
        days = max(launch - seen[-1][0], 0) / DAY_US
        rows.append((logs[-1], fmean(logs), pstdev(logs), float(len(seen)), days))
    return np.array(rows)


def assert_trained_on_the_past(rows: TrainingSet, start: date, end: date, known: Runs) -> None:
    """A training matrix's rows are the attempts of a window, each with the history by hand."""
    window = [
        run for run in usable(known) if f"{start}" <= run["completed_at"] < f"{end}T00:00:00Z"
    ]
    np.testing.assert_allclose(rows.values, np.log([run["throughput"] for run in window]))
    expected = _history_by_hand(window, known)
    assert np.isnan(expected[:, 0]).any()
    assert (expected[:, 3] > 2).any()
    for at, name in enumerate(COLUMNS):  # histories have 32 bits a number
        column = expected[:, at]
        filled_in = np.where(np.isnan(column), np.nanmedian(column), column)
        found = rows.matrix[:, rows.schema.names.index(f"history.{name}")]
        np.testing.assert_allclose(found, filled_in, rtol=1e-7, atol=1e-7)


def _assert_run_trains_on_the_past(
    root: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs = AGAIN
) -> None:
    as_of = LATE + timedelta(days=1)
    store = stored(root, runs)
    with watching(monkeypatch) as (seen,):
        night(store, as_of, SETTINGS)
    (rows,) = seen.fitted
    start = LATE - timedelta(days=SETTINGS.window_days)
    assert_trained_on_the_past(rows, start, LATE, _known(runs, start_of(as_of)))


def _assert_nights_train_on_the_past(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, online: bool = False
) -> None:
    plan = Plan(3, date(2026, 1, 7), 2, ("plain", "without-history"), online)
    store = stored(root, AGAIN)
    with watching(monkeypatch) as nights:
        backtest(store, SETTINGS, plan, lambda _: nights.append(Seen()))
    for at, seen in enumerate(nights[1:]):
        as_of = date(2026, 1, 7) + timedelta(days=at)
        with_history = [rows for rows in seen.fitted if "history.last" in rows.schema.names]
        assert len(with_history) == 2
        for rows in with_history:
            start = as_of - timedelta(days=SETTINGS.window_days)
            assert_trained_on_the_past(rows, start, as_of, _known(AGAIN, start_of(as_of)))


@pytest.mark.parametrize("seed", [11, 21, 31])
def test_a_run_trains_on_what_had_completed_before_the_day_of_each_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    runs = messy(seed=seed)
    runs += completed_again(runs, seed + 1)
    _assert_run_trains_on_the_past(tmp_path, monkeypatch, runs)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_each_night_trains_on_what_had_completed_before_the_day_of_each_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: bool
) -> None:
    _assert_nights_train_on_the_past(tmp_path, monkeypatch, online=online)


def _to_the_launch(launched_at: Ints) -> Ints:
    """A mistake: what completed on the day of the launch, before it, is history."""
    return launched_at


def _to_the_end_of_the_day(launched_at: Ints) -> Ints:
    """A mistake: the whole day of the launch is history."""
    return launched_at // DAY_US * DAY_US + DAY_US


@pytest.mark.parametrize("mistake", [_to_the_launch, _to_the_end_of_the_day])
def test_the_helpers_notice_histories_that_reach_into_the_day_of_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Any
) -> None:
    monkeypatch.setattr(training, "cutoffs", mistake)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        _assert_run_trains_on_the_past(tmp_path / "run", monkeypatch)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        _assert_nights_train_on_the_past(tmp_path / "nights", monkeypatch)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_what_is_judged_sees_no_more_than_its_launch_knew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: bool
) -> None:
    nights: list[Night] = []

    def listening(known: Night, model: Floats) -> Floats:
        nights.append(known)
        return model

    monkeypatch.setitem(COMPARATORS, "lookup-table", listening)
    as_of, end = date(2026, 1, 7), date(2026, 1, 11)
    plan = Plan(1, as_of, (end - as_of).days, ("lookup-table",), online)
    backtest(stored(tmp_path, AGAIN), SETTINGS, plan)
    known = _known(AGAIN, start_of(end))
    judged = _judged_by_hand(AGAIN, as_of, end)
    np.testing.assert_allclose(nights[0].jobs.measured, [run["throughput"] for run in judged])
    latest = None if online else start_of(as_of)
    visible = known if online else _known(AGAIN, start_of(as_of))
    expected = _history_by_hand(judged, visible, latest, online=online)
    found: History = nights[0].history
    days = found.days_since(nights[0].jobs.jobs.launched_at)
    columns = np.column_stack([found.last, found.mean, found.std, found.runs, days])
    np.testing.assert_allclose(columns, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_an_attempt_that_was_known_before_is_neither_judged_nor_its_own_history(
    store: LocalStore, online: bool
) -> None:
    once = attempt(attempt_id="x", job_family="alone", completed_at="2026-01-06T12:00:00Z")
    again = once | {"completed_at": "2026-01-07T12:00:00Z"}
    new = once | {"attempt_id": "y", "completed_at": "2026-01-07T13:00:00Z", "throughput": 617.25}
    stored(store.root, [*fleet(40, days=6), once, again, new])
    plan = Plan(1, date(2026, 1, 7), 1, ("family-median",), online)
    (told,) = backtest(store, FEW, plan)["comparators"]["family-median"]["nights"]
    assert (told["attempts"], told["coverage"]) == (1, 1.0)
    assert told["ratio"] == pytest.approx(2)
