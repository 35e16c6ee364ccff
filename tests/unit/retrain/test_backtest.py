"""Nights replayed over the past: which, on what, against whom, and what each may see."""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain.backtest import SUMMARISED, Plan, backtest
from functions.retrain.evaluation import figures
from leap_model.errors import TrainingError
from leap_model.store import LocalStore
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import FEW, TINY, add

Attempts = list[dict[str, Any]]
MEDIAN = "family-median-else-model"
LAST = date(2026, 1, 10)


@pytest.fixture(scope="module")
def attempts() -> Attempts:
    return fleet(400)


@pytest.fixture(scope="module")
def past(attempts: Attempts, tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """Ten days; read it only."""
    return filled(tmp_path_factory.mktemp("past"), attempts)


@pytest.fixture(scope="module")
def result(past: LocalStore) -> dict[str, Any]:
    plan = Plan(nights=3, compare=("without-history", MEDIAN))
    return backtest(past, replace(TINY, window_days=30), plan)


def _completed(attempts: Attempts, first: date, days: int = 1) -> Attempts:
    last = first + timedelta(days=days - 1)
    return [a for a in attempts if first.isoformat() <= a["completed_at"][:10] <= str(last)]


def test_the_last_nights_are_replayed_each_on_its_own_day(
    result: dict[str, Any], attempts: Attempts
) -> None:
    assert [night["as_of"] for night in result["nights"]] == [
        "2026-01-08",
        "2026-01-09",
        "2026-01-10",
    ]
    for night in result["nights"]:
        as_of = date.fromisoformat(night["as_of"])
        assert (night["from"], night["to"]) == (night["as_of"], night["as_of"])
        assert night["attempts"] == len(_completed(attempts, as_of))
        assert night["rows"] == sum(a["completed_at"][:10] < night["as_of"] for a in attempts)


def test_medians_are_of_the_nights(result: dict[str, Any]) -> None:
    for entry in (result, *result["comparators"].values()):
        assert set(entry["median"]) == set(SUMMARISED)
        for name, value in entry["median"].items():
            nights = sorted(night[name] for night in entry["nights"])
            assert value == nights[1]


def test_comparators_are_scored_on_the_same_attempts(result: dict[str, Any]) -> None:
    assert set(result["comparators"]) == {"without-history", MEDIAN}
    for entry in result["comparators"].values():
        for theirs, own in zip(entry["nights"], result["nights"], strict=True):
            assert (theirs["as_of"], theirs["attempts"]) == (own["as_of"], own["attempts"])
            assert theirs["by_hardware"].keys() == own["by_hardware"].keys()


def test_the_result_is_strict_json(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_a_night_is_what_it_is_alone(past: LocalStore, result: dict[str, Any]) -> None:
    plan = Plan(nights=1, first=date(2026, 1, 9))
    alone = backtest(past, replace(TINY, window_days=30), plan)
    assert alone["nights"] == result["nights"][1:2]


def test_the_horizon_is_the_days_from_the_night_on(past: LocalStore, attempts: Attempts) -> None:
    plan = Plan(nights=1, first=date(2026, 1, 7), horizon_days=3)
    (night,) = backtest(past, TINY, plan)["nights"]
    assert (night["from"], night["to"]) == ("2026-01-07", "2026-01-09")
    assert night["attempts"] == len(_completed(attempts, date(2026, 1, 7), 3))


def test_the_window_is_the_days_before_the_night(past: LocalStore, attempts: Attempts) -> None:
    plan = Plan(nights=2, first=date(2026, 1, 7))
    nights = backtest(past, replace(FEW, window_days=2), plan)["nights"]
    for night, first in zip(nights, (date(2026, 1, 5), date(2026, 1, 6)), strict=True):
        assert night["rows"] == len(_completed(attempts, first, 2))


def test_a_night_without_attempts_has_null_figures(past: LocalStore) -> None:
    plan = Plan(nights=2, first=LAST)
    result = backtest(past, replace(TINY, window_days=30), plan)
    assert result["nights"][1]["attempts"] == 0
    assert result["nights"][1]["w20"] is None
    assert result["median"]["w20"] == result["nights"][0]["w20"]
    empty = backtest(past, replace(TINY, window_days=30), Plan(1, LAST + timedelta(days=1)))
    assert set(empty["median"].values()) == {None}


def test_labels_of_the_horizon_change_no_model_and_no_prediction(
    tmp_path: Path, attempts: Attempts
) -> None:
    apart = [{**a, "job_family": a["attempt_id"]} for a in attempts]
    factor = 2.0  # what was predicted stays, so that every ratio halves
    poisoned = [
        {**a, "throughput": a["throughput"] * factor} if a["completed_at"][:10] >= str(LAST) else a
        for a in apart
    ]
    ratios = [
        backtest(filled(tmp_path / name, entries), TINY, Plan(1, LAST))["nights"][0]["ratio"]
        for name, entries in (("clean", apart), ("poisoned", poisoned))
    ]
    assert ratios[0] == pytest.approx(ratios[1] * factor)


@pytest.mark.parametrize(("first", "rows"), [(date(2026, 1, 1), 0), (date(2025, 1, 1), 0)])
def test_a_night_with_nothing_to_train_on_says_so(past: LocalStore, first: date, rows: int) -> None:
    with pytest.raises(TrainingError, match=f"{rows} attempts with a usable throughput"):
        backtest(past, TINY, Plan(1, first))


def test_an_empty_store_says_so(store: LocalStore) -> None:
    filled(store.root, [])
    with pytest.raises(TrainingError, match="no attempts"):
        backtest(store, TINY, Plan(1))


def _recurring(store: LocalStore, attempts: Attempts) -> Attempts:
    """A family that first runs on the night's day, and again on the two that follow."""
    filled(store.root, attempts)
    late = [
        attempt(
            attempt_id=f"late-{at}",
            job_family="newcomer",
            throughput=rate,
            launched_at=f"2026-02-0{at + 1}T01:00:00Z",
            completed_at=f"2026-02-0{at + 1}T02:00:00Z",
        )
        for at, rate in enumerate((100.0, 400.0, 200.0))
    ]
    add(store, late)
    return late


def test_online_history_shows_what_completed_before_the_launch_day(
    store: LocalStore, attempts: Attempts
) -> None:
    late = _recurring(store, attempts)
    settings = replace(TINY, window_days=40)
    plan = Plan(1, date(2026, 2, 1), horizon_days=3, compare=(MEDIAN,), online_history=True)
    result = backtest(store, settings, plan)
    (night,), (theirs,) = result["nights"], result["comparators"][MEDIAN]["nights"]
    assert night["attempts"] == 3
    assert night["cold"]["attempts"] == 1
    blind = backtest(store, settings, replace(plan, online_history=False))
    assert blind["nights"][0]["cold"]["attempts"] == 3
    assert blind["comparators"][MEDIAN]["nights"] == blind["nights"]
    # By hand: the first is the model's, then the median of 100, then of 100 and 400.
    measured = np.array([run["throughput"] for run in late])
    known = figures(measured[1:], np.array([100.0, 250.0]))
    errors = sorted((0.75, 0.25))
    assert known["mdape"] == pytest.approx(np.median(errors))
    assert theirs["warm"] == {"attempts": 2, "w20": 0.0}


def test_the_median_of_a_family_in_a_backtest_by_hand(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, attempts)
    early = [("2026-01-05", 90.0), ("2026-01-06", 110.0), ("2026-01-07", 100.0)]
    runs = [*early, ("2026-02-01", 104.0)]
    add(
        store,
        [
            attempt(
                attempt_id=day, job_family="f", throughput=rate, completed_at=f"{day}T02:00:00Z"
            )
            for day, rate in runs
        ],
    )
    plan = Plan(1, date(2026, 2, 1), compare=(MEDIAN,))
    result = backtest(store, replace(TINY, window_days=40), plan)
    (theirs,) = result["comparators"][MEDIAN]["nights"]
    assert (theirs["attempts"], theirs["w5"], theirs["w20"]) == (1, 1.0, 1.0)
    assert theirs["ratio"] == pytest.approx(100 / 104)


def test_whoever_watches_hears_of_every_night(past: LocalStore) -> None:
    heard: list[str] = []
    backtest(past, replace(TINY, window_days=30), Plan(2), heard.append)
    assert heard == ["2026-01-09", "2026-01-10"]
