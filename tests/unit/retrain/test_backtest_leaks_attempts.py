"""What is fitted and what is judged are different attempts, and lie apart in time."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain.backtest import Plan, backtest
from functions.retrain.comparators import PARTIAL
from functions.retrain.learning.estimator import TrainingSet
from leap_model.columns import Floats
from tests.unit.retrain.leaks import (
    AGAIN,
    LATE,
    ONCE,
    SETTINGS,
    Runs,
    Seen,
    stored,
    train_on_a_day_more,
    usable,
    watching,
)
from tests.unit.retrain.nights import night

pytestmark = pytest.mark.usefixtures("small_estimators")


def _whose(measured: Iterable[float], runs: Runs) -> list[dict[str, Any]]:
    """The records with these measurements, of which no two are equal."""
    by_value = {f"{run['throughput']:.9g}": run for run in runs if run["throughput"]}
    assert len(by_value) == sum(bool(run["throughput"]) for run in runs)
    return [by_value[f"{value:.9g}"] for value in measured]


def assert_apart(
    fitted: Sequence[TrainingSet], judged: Sequence[Floats], last: date, runs: Runs
) -> None:
    """Whatever was fitted completed by the end of a day, whatever was judged after it, and no
    attempt is among both."""
    trained = _whose((value for rows in fitted for value in np.exp(rows.values)), runs)
    scored = _whose((value for values in judged for value in values.tolist()), runs)
    assert trained
    assert scored
    assert max(run["completed_at"][:10] for run in trained) <= last.isoformat()
    assert min(run["completed_at"][:10] for run in scored) > last.isoformat()
    ids = [{run["attempt_id"] for run in records} for records in (trained, scored)]
    assert ids[0].isdisjoint(ids[1])


def _assert_nights_apart(
    root: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, runs: Runs
) -> None:
    store = stored(root, runs)
    with watching(monkeypatch) as nights:
        backtest(store, SETTINGS, plan, lambda _: nights.append(Seen()))
    assert len(nights) == plan.nights + 1
    assert plan.first is not None
    for at, seen in enumerate(nights[1:]):
        last = plan.first + timedelta(days=at - 1)
        assert len(seen.judged) == 1 + len(plan.compare) + 2 * (1 + len(plan.compare))
        assert_apart(seen.fitted, seen.judged, last, runs)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
@pytest.mark.parametrize("horizon", [1, 3])
def test_each_night_judges_attempts_that_completed_after_all_that_it_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, horizon: int, online: bool
) -> None:
    compare = ("plain", "cascade", "without-history", *PARTIAL)
    plan = Plan(3, date(2026, 1, 7), horizon, compare, online)
    _assert_nights_apart(tmp_path, monkeypatch, plan, ONCE)


def test_each_night_judges_other_attempts_than_it_fitted_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_nights_apart(tmp_path, monkeypatch, Plan(3, date(2026, 1, 7), 2, PARTIAL), AGAIN)


def test_the_helper_notices_a_night_that_trains_on_what_it_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match=r"assert '2026-01-09' <= '2026-01-08'"):
        _assert_nights_apart(tmp_path, monkeypatch, Plan(1, LATE, 1, PARTIAL), ONCE)


def _assert_runs_apart(root: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs) -> None:
    """Two runs a day apart: each beside its own window, and the live model beside the first's."""
    store = stored(root, runs)
    with watching(monkeypatch) as seen:
        first = night(store, LATE, SETTINGS, force=True)
        seen.append(Seen())
        second = night(store, LATE + timedelta(days=1), SETTINGS)
    windows = [date.fromisoformat(metrics["window"]["to"]) for metrics in (first, second)]
    for metrics, run in zip((first, second), seen, strict=True):
        assert metrics["window"]["to"] < metrics["evaluation"]["from"]
        assert_apart(run.fitted, run.judged, date.fromisoformat(metrics["window"]["to"]), runs)
    assert second["live"]["version"] == first["version"]
    assert first["window"]["to"] < second["live"]["evaluation"]["from"]
    assert_apart(seen[0].fitted, seen[1].live, windows[0], runs)


def test_a_run_judges_attempts_that_completed_after_all_that_it_and_the_live_model_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_runs_apart(tmp_path, monkeypatch, ONCE)


def test_a_run_judges_other_attempts_than_it_fitted_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stored(tmp_path, AGAIN)
    with watching(monkeypatch) as (seen,):
        metrics = night(store, LATE + timedelta(days=1), SETTINGS)
    last = date.fromisoformat(metrics["window"]["to"])
    assert_apart(seen.fitted, seen.judged, last, AGAIN)


def test_the_live_model_is_judged_on_other_attempts_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = next(run for run in usable(ONCE) if run["completed_at"][:10] == "2026-01-05")
    again = early | {"completed_at": f"{LATE}T12:00:00Z", "throughput": 123.25}
    _assert_runs_apart(tmp_path, monkeypatch, [*ONCE, again])


def test_the_helper_notices_a_run_that_fits_the_day_that_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match=r"assert '2026-01-08' <= '2026-01-07'"):
        _assert_runs_apart(tmp_path, monkeypatch, ONCE)
