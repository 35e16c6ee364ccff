"""Predictions do not move when everything that they are judged on is multiplied."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.backtest import Plan, backtest
from functions.retrain.comparators import COMPARATORS
from functions.retrain.settings import Settings
from tests.unit.retrain.leaks import (
    AGAIN,
    ESTIMATORS,
    LATE,
    SETTINGS,
    Runs,
    stored,
    train_on_a_day_more,
)
from tests.unit.retrain.nights import night

FACTOR = 7.0
EVERY = tuple(COMPARATORS)

pytestmark = pytest.mark.usefixtures("small_estimators")


def _poisoned(runs: Runs, moment: date) -> Runs:
    """Every measurement from a day on times seven."""
    return [
        run | {"throughput": run["throughput"] * FACTOR}
        if run["throughput"] and run["completed_at"][:10] >= moment.isoformat()
        else run
        for run in runs
    ]


def _of_every_method(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The one night of each method, and of each on what a partial one answers."""
    entries = {"": result, **result["comparators"]}
    for partial, methods in result["covered"].items():
        entries |= {f"{name} on what {partial} answers": e for name, e in methods.items()}
    return {name: entry["nights"][0] for name, entry in entries.items()}


def assert_blind(
    root: Path, plan: Plan, runs: Runs = AGAIN, *, poisoned_from: date | None = None
) -> None:
    """No prediction of a night moves with what completed from its day on: with all of that times
    seven, every ratio of predicted to measured is a seventh."""
    assert plan.first is not None
    dirty = _poisoned(runs, poisoned_from or plan.first)
    assert dirty != runs
    clean, after = (
        _of_every_method(backtest(stored(root / name, entries), SETTINGS, plan))
        for name, entries in (("clean", runs), ("dirty", dirty))
    )
    assert clean.keys() == after.keys()
    for name, told in clean.items():
        assert told["attempts"] > 0
        for same in ("attempts", "coverage", "cold"):
            assert _attempts(told.get(same)) == _attempts(after[name].get(same)), (name, same)
        assert told["ratio"] == pytest.approx(after[name]["ratio"] * FACTOR, rel=1e-12), name


def _attempts(figure: Any) -> Any:
    """A part's count, without its accuracy, which does move."""
    return figure["attempts"] if isinstance(figure, dict) else figure


def test_no_method_of_a_night_knows_what_completes_on_its_day(tmp_path: Path) -> None:
    assert_blind(tmp_path, Plan(1, LATE, 1, EVERY))


def test_no_method_of_a_night_knows_what_completes_within_a_longer_horizon(tmp_path: Path) -> None:
    assert_blind(tmp_path, Plan(1, date(2026, 1, 7), 4, EVERY))


def test_the_helper_notices_history_from_within_the_horizon(tmp_path: Path) -> None:
    plan = Plan(1, date(2026, 1, 7), 4, ("family-median",), online_history=True)
    with pytest.raises(AssertionError, match="±"):
        assert_blind(tmp_path, plan)


@pytest.mark.parametrize("method", [(), ("lookup-table",)], ids=["model", "lookup-table"])
def test_the_helper_notices_training_rows_of_the_horizon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: tuple[str, ...]
) -> None:
    train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match="±"):
        assert_blind(tmp_path, Plan(1, LATE, 1, method))


def _judged_ratios(root: Path, runs: Runs, settings: Settings) -> list[float]:
    """Predicted to measured of a run's new model and of the live one, a day older."""
    store = stored(root, runs)
    night(store, LATE, settings, force=True)
    metrics = night(store, LATE + timedelta(days=1), settings)
    assert metrics["evaluation"]["from"] == LATE.isoformat()
    return [metrics["evaluation"]["ratio"], metrics["live"]["evaluation"]["ratio"]]


def assert_run_is_blind(root: Path, settings: Settings) -> None:
    clean = _judged_ratios(root / "clean", AGAIN, settings)
    dirty = _judged_ratios(root / "dirty", _poisoned(AGAIN, LATE), settings)
    assert clean == pytest.approx([ratio * FACTOR for ratio in dirty], rel=1e-12)


@pytest.mark.parametrize("estimator", ["single", "plain", "cascade"])
def test_neither_a_new_model_nor_the_live_one_knows_the_day_that_judges_them(
    tmp_path: Path, estimator: str
) -> None:
    assert_run_is_blind(tmp_path, replace(SETTINGS, estimator=ESTIMATORS[estimator]))


def test_the_helper_notices_a_run_that_trains_on_the_day_that_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match="±"):
        assert_run_is_blind(tmp_path, SETTINGS)
