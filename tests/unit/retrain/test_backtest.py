"""Nights replayed over the past: which, on what, against whom, and what each may see."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain import dataset
from functions.retrain.backtest import SUMMARISED, Plan, backtest
from functions.retrain.comparators import PARTIAL
from functions.retrain.evaluation import figures
from functions.retrain.learning.single import Single
from leap_model.errors import TrainingError
from leap_model.reading import read_days
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


EVERY = ("without-history", MEDIAN, *PARTIAL)
KEYS = {
    *("as_of", "rows", "from", "to", "attempts", "w5", "w10", "w15", "w20", "mdape", "ratio"),
    *("w20_by_gpu_hours", "cold", "by_hardware", "by_model_type", "noise_ceiling_w20", "coverage"),
}


def _entries(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Nights and median of the model, of each comparator, and of each on what is covered."""
    covered = [entry for methods in result["covered"].values() for entry in methods.values()]
    return [result, *result["comparators"].values(), *covered]


@pytest.fixture(scope="module")
def compared(past: LocalStore) -> dict[str, Any]:
    return backtest(past, replace(TINY, window_days=30), Plan(nights=3, compare=EVERY))


def test_every_key_of_the_contract_is_there(compared: dict[str, Any]) -> None:
    assert compared.keys() == {
        "target",
        "estimator",
        "nights",
        "median",
        "comparators",
        "covered",
        "differences",
        "intervals",
        "described",
    }
    assert compared["comparators"].keys() == set(EVERY)
    assert compared["covered"].keys() == set(PARTIAL)
    for entry in (compared, *compared["comparators"].values()):
        assert all(night.keys() >= KEYS for night in entry["nights"])
    for entry in _entries(compared):
        assert entry.keys() >= {"nights", "median"}
        assert [night["as_of"][-2:] for night in entry["nights"]] == ["08", "09", "10"]
        assert set(entry["median"]) == {"w5", "w10", "w15", "w20", "mdape", "ratio"}
    assert json.loads(json.dumps(compared, allow_nan=False)) == compared


def test_shares_lie_between_nothing_and_one_and_wider_bands_hold_more(
    compared: dict[str, Any],
) -> None:
    for entry in _entries(compared):
        for night in entry["nights"]:
            assert 0 <= night["w5"] <= night["w10"] <= night["w15"] <= night["w20"] <= 1
            assert night["mdape"] >= 0
            assert night["ratio"] > 0
            assert 0 <= night.get("coverage", 0) <= 1


def test_medians_leave_out_nights_without_figures(past: LocalStore) -> None:
    plan = Plan(nights=4, first=LAST - timedelta(days=1), compare=PARTIAL)
    result = backtest(past, replace(TINY, window_days=30), plan)
    for entry in _entries(result):
        assert [night["attempts"] > 0 for night in entry["nights"]] == [True, True, False, False]
        for name, value in entry["median"].items():
            assert value == np.median([night[name] for night in entry["nights"][:2]])


def test_nights_are_one_pass_over_the_data(
    past: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    objects: Counter[str] = Counter()
    read = LocalStore.read

    def reading(store: LocalStore, days: Iterable[Any], columns: Any) -> Any:
        chosen = list(days)
        asked.append(len(chosen))
        return read_days(store, chosen, columns)

    def counted(store: LocalStore, key: str) -> bytes | None:
        objects[key] += 1
        return read(store, key)

    monkeypatch.setattr(dataset, "read_days", reading)
    monkeypatch.setattr(LocalStore, "read", counted)
    backtest(past, replace(FEW, window_days=3), Plan(1, date(2026, 1, 7)))
    alone = len(asked)
    backtest(past, replace(FEW, window_days=3), Plan(4, date(2026, 1, 7), compare=EVERY))
    assert alone == len(asked) - alone == 2  # the days of the nights, and those before them
    assert asked == [4, 3, 7, 3]
    attempts = {key: count for key, count in objects.items() if key.startswith("attempts/")}
    assert set(attempts.values()) == {1, 2}  # once a backtest


def _again(attempts: Attempts, at: int, completed_at: str, rate: float) -> dict[str, Any]:
    return {**attempts[at], "completed_at": completed_at, "throughput": rate}


def _superseded(attempts: Attempts) -> Attempts:
    """Attempts of the window that complete again: before it, in it, on nights, and after."""
    days = {
        **dict.fromkeys((130, 131), "2026-01-02"),
        **dict.fromkeys((90, 91, 132, 210), "2026-01-06"),
        **dict.fromkeys((92, 170, 211, 250), "2026-01-08"),
        **dict.fromkeys((93, 171, 290, 330), "2026-01-09"),
        **dict.fromkeys((94, 172, 251, 291), "2026-01-20"),
    }
    return [_again(attempts, at, f"{day}T12:34:56Z", 3.0 + at) for at, day in days.items()]


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_a_night_is_what_it_is_alone_also_where_attempts_complete_again(
    store: LocalStore, attempts: Attempts, online: bool
) -> None:
    named = [
        a | {"config": {**a["config"], f"of day {a['completed_at'][:10]}": at}}
        for at, a in enumerate(attempts)
    ]
    filled(store.root, named)
    add(store, _superseded(named))
    settings = replace(FEW, window_days=4, estimator=Single(trees=8, leaves=8, learning_rate=0.5))
    plan = Plan(4, date(2026, 1, 6), 2, EVERY, online)
    together = backtest(store, settings, plan)
    for at in range(plan.nights):
        first = date(2026, 1, 6) + timedelta(days=at)
        alone = backtest(store, settings, replace(plan, nights=1, first=first))
        for one, among in zip(_entries(alone), _entries(together), strict=True):
            assert one["nights"] == among["nights"][at : at + 1]


def test_a_night_counts_what_was_known_of_an_attempt_by_its_own_date(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, attempts)
    settings = replace(FEW, window_days=4)
    before = backtest(store, settings, Plan(3, date(2026, 1, 6)))["nights"]
    moved = next(at for at, a in enumerate(attempts) if a["completed_at"][:10] == "2026-01-03")
    again = _again(attempts, moved, "2026-01-07T12:34:56Z", attempts[moved]["throughput"] * 1000)
    add(store, [again])
    after = backtest(store, settings, Plan(3, date(2026, 1, 6)))["nights"]
    # On the 6th and 7th it trains as of the 3rd, so that the 7th does not judge it; on the 8th
    # the 3rd lies outside the window, and the 7th in it.
    assert after[:2] == before[:2]
    assert [night["rows"] for night in after] == [160, 160, 161]
    assert after[2]["attempts"] == before[2]["attempts"]


def test_what_a_night_knew_before_is_not_judged_when_it_completes_again(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, attempts)
    plan = Plan(1, LAST, compare=EVERY)
    before = backtest(store, TINY, plan)
    seen = [at for at, a in enumerate(attempts) if a["completed_at"][:10] < str(LAST)][::20]
    assert add(store, [_again(attempts, at, f"{LAST}T23:00:00Z", 1.0) for at in seen]).stored
    assert backtest(store, TINY, plan) == before
