"""Comparators by hand: what each says of a job, and on which attempts it is scored."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from functions.retrain import comparators
from functions.retrain.backtest import Plan, backtest
from functions.retrain.comparators import COMPARATORS, PARTIAL, Comparator
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.single import Single
from functions.retrain.nights import Night
from leap_model.columns import Floats
from leap_model.store import LocalStore
from leap_model.targets import TARGETS
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import FEW

PLAIN = replace(FEW, estimator=Single(name="plain", scaled=False), window_days=4)
"""Of fewer than twenty rows it says their median, whatever the job."""
NIGHT = date(2026, 1, 7)
SUMMARISED = ("w5", "w10", "w15", "w20", "mdape", "ratio")
TINY_PLAIN = Single(name="plain", scaled=False, trees=3, leaves=5, learning_rate=0.5)
TINY_ESTIMATORS: Mapping[str, Single | Cascade] = {
    entry.name: entry
    for entry in (
        Single(trees=3, leaves=5, learning_rate=0.5),
        TINY_PLAIN,
        Cascade(bins=3, rounds=1, expert_trees=2, deciding_trees=1, classifier_trees=2),
        Cascade(name="cascade-published", bins=2, rounds=1, reach=13, expert_trees=2),
    )
}


def _run(name: str, day: int, rate: float | None, **values: Any) -> dict[str, Any]:
    """An attempt on one host of fast-8 at 08:00 of a day; a family of its own unless told."""
    return attempt(
        **{
            "attempt_id": name,
            "job_family": f"family of {name}",
            "num_trainers": 1,
            "throughput": rate,
            "completed_at": f"2026-01-{day:02}T08:00:00Z",
            **values,
        }
    )


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, Floats]:
    """What each comparator said of the night's jobs, by attempt id."""
    seen: dict[str, Floats] = {}

    def listening(name: str, method: Comparator) -> Comparator:
        def comparator(night: Night, model: Floats) -> Floats:
            seen["model"] = model
            seen[name] = method(night, model)
            return seen[name]

        return comparator

    for name, method in COMPARATORS.items():
        monkeypatch.setitem(COMPARATORS, name, listening(name, method))
    return seen


def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparators, "ESTIMATORS", TINY_ESTIMATORS)


def _night(store: LocalStore, runs: list[dict[str, Any]], *compare: str) -> dict[str, Any]:
    """The backtest of the one night that follows four days of training."""
    result = backtest(filled(store.root, runs), PLAIN, Plan(1, NIGHT, compare=compare))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    return result


# lookup-table

KNOWN = [
    _run("t1", 4, 10.0),
    _run("t2", 5, 90.0),
    _run("t3", 6, 20.0),
    _run("t4", 4, 300.0, batch_size=32),
    _run("t5", 5, 500.0, batch_size=32),
    _run("t6", 5, 7.0, hardware_type="slow-4", num_trainers=2),
]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 20.0),
        ({"job_family": "family of t1", "config": {"lr": 1}}, 20.0),
        ({"hardware_type": "ml.FAST-8"}, 20.0),  # an alias
        ({"batch_size": 32}, 400.0),
        ({"batch_size": 32.0}, 400.0),
        ({"hardware_type": "slow-4", "num_trainers": 2}, 7.0),
        ({"batch_size": 64.5}, np.nan),
        ({"model_type": "bert"}, np.nan),
        ({"model_type": "ResNet"}, np.nan),
        ({"hardware_type": "slow-4"}, np.nan),
        ({"num_trainers": 2}, np.nan),
    ],
)
def test_the_lookup_table_says_the_median_of_the_same_key_or_nothing(
    store: LocalStore, said: dict[str, Floats], values: dict[str, Any], expected: float
) -> None:
    _night(store, [*KNOWN, _run("x", 7, 1.0, **values)], "lookup-table")
    np.testing.assert_allclose(said["lookup-table"], [expected])


def test_the_lookup_table_is_of_the_training_window_only(
    store: LocalStore, said: dict[str, Floats]
) -> None:
    runs = [
        _run("before", 2, 1000.0),
        _run("first", 3, 10.0),
        _run("last", 6, 30.0, completed_at="2026-01-06T23:59:59Z"),
        _run("unmeasured", 5, None),
        _run("x", 7, 77.0, completed_at="2026-01-07T00:00:00Z"),
        _run("y", 7, 99.0),
    ]
    _night(store, runs, "lookup-table")
    assert said["lookup-table"].tolist() == [20.0, 20.0]


def test_the_lookup_table_counts_an_attempt_once(
    store: LocalStore, said: dict[str, Floats]
) -> None:
    again = [_run("t1", day, 10.0 * day) for day in (4, 5, 6)]
    _night(store, [*again, _run("t2", 4, 20.0), _run("x", 7, 1.0)], "lookup-table")
    assert said["lookup-table"].tolist() == [40.0]


# family-median

RUNS = [
    _run("a1", 1, 40.0, job_family="A"),  # before the window: history all the same
    _run("a2", 4, 10.0, job_family="A", hardware_type="slow-4"),
    _run("a3", 6, 20.0, job_family="A", completed_at="2026-01-06T23:59:59Z"),
    _run("b1", 5, 70.0, job_family="B"),
    _run("b2", 6, 20.0, job_family="B", completed_at="2026-01-06T00:00:00Z"),
    _run("x1", 7, 1000.0, job_family="A", completed_at="2026-01-07T00:00:00Z"),
    _run("x2", 7, 1.0, job_family="A"),
    _run("x3", 7, 1.0, job_family="B", launched_at="2026-01-05T20:00:00Z"),
    _run("x4", 7, 1.0, job_family="B", launched_at="2026-01-06T00:00:00Z"),
    _run("x5", 7, 1.0, job_family="C"),
]


def test_the_family_median_is_of_what_completed_before_the_launch_day(
    store: LocalStore, said: dict[str, Floats]
) -> None:
    _night(store, RUNS, "family-median")
    np.testing.assert_allclose(said["family-median"], [20, 20, np.nan, 70, np.nan])


def test_where_a_family_has_no_median_the_model_s_own_answer_stands(
    store: LocalStore, said: dict[str, Floats]
) -> None:
    _night(store, RUNS, "family-median-else-model")
    model = 20.0  # the median of 10, 20, 20 and 70
    np.testing.assert_allclose(said["model"], np.full(5, model))
    np.testing.assert_allclose(said["family-median-else-model"], [20, 20, model, 70, model])


def test_comparators_speak_of_the_target(store: LocalStore, said: dict[str, Floats]) -> None:
    runs = [
        _run("t1", 5, 100.0, utilization=0.2, job_family="A"),
        _run("t2", 6, None, utilization=0.4, job_family="A"),
        _run("t3", 6, 300.0, job_family="A"),
        _run("x", 7, None, utilization=0.6, job_family="A"),
        _run("y", 7, 200.0, job_family="A"),
    ]
    settings = replace(PLAIN, target=TARGETS["utilization"])
    methods = ("lookup-table", "family-median", "family-median-else-model")
    result = backtest(filled(store.root, runs), settings, Plan(1, NIGHT, compare=methods))
    for name in methods:
        assert said[name].tolist() == pytest.approx([0.3])
        assert result["comparators"][name]["median"]["ratio"] == pytest.approx(0.5)


# Estimators, with and without history


@pytest.mark.parametrize("name", TINY_ESTIMATORS)
def test_an_estimator_s_name_gives_what_a_backtest_with_it_gives(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _tiny(monkeypatch)
    filled(store.root, fleet(240))
    plan = Plan(1, date(2026, 1, 9))
    with_it = backtest(store, replace(FEW, estimator=TINY_ESTIMATORS[name]), plan)
    settings = replace(FEW, estimator=Single(trees=1))
    beside = backtest(store, settings, replace(plan, compare=(name,)))
    assert beside["comparators"][name]["nights"] == with_it["nights"]
    assert beside["nights"] != with_it["nights"]


def test_the_own_estimator_s_name_is_not_fitted_again(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, fits: list[TrainingSet]
) -> None:
    _tiny(monkeypatch)
    filled(store.root, fleet(240))
    settings = replace(FEW, estimator=TINY_PLAIN)
    result = backtest(store, settings, Plan(1, date(2026, 1, 9), compare=("plain",)))
    assert len(fits) == 1
    assert result["comparators"]["plain"]["nights"] == result["nights"]


def test_the_own_estimator_with_other_constants_is_fitted_by_its_name_as_it_is(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, fits: list[TrainingSet]
) -> None:
    _tiny(monkeypatch)
    filled(store.root, fleet(240))
    settings = replace(FEW, estimator=replace(TINY_PLAIN, trees=1))
    result = backtest(store, settings, Plan(1, date(2026, 1, 9), compare=("plain",)))
    assert len(fits) == 2
    assert result["comparators"]["plain"]["nights"] != result["nights"]


def test_what_is_covered_keeps_the_own_model_apart_from_a_comparator_of_its_name(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tiny(monkeypatch)
    filled(store.root, fleet(240))
    settings = replace(FEW, estimator=replace(TINY_PLAIN, trees=1))
    compare = ("plain", "family-median")
    result = backtest(store, settings, Plan(1, date(2026, 1, 9), compare=compare))
    covered = result["covered"]["family-median"]
    assert covered.keys() == {"model", *compare}
    assert covered["model"] != covered["plain"]
    assert result["estimator"] == "plain"


def test_without_history_fits_the_same_rows_without_their_history(
    store: LocalStore, fits: list[TrainingSet]
) -> None:
    filled(store.root, fleet(240))
    backtest(store, FEW, Plan(1, date(2026, 1, 9), compare=("without-history",)))
    own, blind = fits
    np.testing.assert_array_equal(own.values, blind.values)
    assert (own.scale, blind.scale) == ("ratio.log_peak", "ratio.log_peak")
    left_out = [name for name in own.schema.names if name.startswith("history.")]
    assert len(left_out) == 5
    assert [name for name in own.schema.names if name not in left_out] == [*blind.schema.names]
    for at, name in enumerate(blind.schema.names):
        theirs = own.matrix[:, own.schema.names.index(name)]
        np.testing.assert_array_equal(theirs, blind.matrix[:, at])


def test_without_history_says_what_the_model_says_where_no_family_recurs(
    store: LocalStore, said: dict[str, Floats]
) -> None:
    recurring = fleet(240)
    apart = [{**entry, "job_family": entry["attempt_id"]} for entry in recurring]
    plan = Plan(1, date(2026, 1, 9), compare=("without-history",))
    backtest(filled(store.root / "apart", apart), FEW, plan)
    own = said["model"]
    np.testing.assert_array_equal(said["without-history"], own)
    backtest(filled(store.root / "recurring", recurring), FEW, plan)
    np.testing.assert_array_equal(said["without-history"], own)
    assert not np.allclose(said["model"], own)


# Which attempts a method is scored on

NIGHT_OF_FOUR = [
    _run("t1", 5, 100.0, job_family="A"),
    _run("t2", 6, 400.0),
    _run("t3", 6, 200.0, batch_size=32),
    _run("x1", 7, 110.0, job_family="A"),  # both answer: the table 250, the family 100
    _run("x2", 7, 240.0, batch_size=32),  # the table: 200
    _run("x3", 7, 80.0, job_family="A", num_trainers=2),  # the family: 100
    _run("x4", 7, 400.0, num_trainers=4),  # nobody but the model, which always says 200
]
MODEL_SAYS = {"x1": 200 / 110, "x2": 200 / 240, "x3": 200 / 80, "x4": 200 / 400}
TABLE_SAYS = {"x1": 250 / 110, "x2": 200 / 240}
FAMILY_SAYS = {"x1": 100 / 110, "x3": 100 / 80}
BOTH_SAY = MODEL_SAYS | FAMILY_SAYS
SAYS = {
    "model": MODEL_SAYS,
    "lookup-table": TABLE_SAYS,
    "family-median": FAMILY_SAYS,
    "family-median-else-model": BOTH_SAY,
    "without-history": MODEL_SAYS,
}
"""Predicted ÷ measured of each attempt that a method answers."""


def _figures(ratios: list[float]) -> dict[str, Any]:
    """The figures of such ratios, worked out another way."""
    errors = [abs(ratio - 1) for ratio in ratios]
    shares = {
        f"w{band}": sum(error <= band / 100 for error in errors) / len(errors)
        for band in (5, 10, 15, 20)
    }
    middle = {"mdape": float(np.median(errors)), "ratio": float(np.median(ratios))}
    return {"attempts": len(ratios), **shares, **middle}


@pytest.fixture
def of_four(store: LocalStore) -> dict[str, Any]:
    return _night(store, NIGHT_OF_FOUR, *(name for name in SAYS if name != "model"))


def test_each_method_is_scored_on_what_it_answers(of_four: dict[str, Any]) -> None:
    entries = {"model": of_four, **of_four["comparators"]}
    assert entries.keys() == SAYS.keys()
    for name, answers in SAYS.items():
        (night,) = entries[name]["nights"]
        expected = _figures([*answers.values()])
        assert {figure: night[figure] for figure in expected} == pytest.approx(expected)
        assert night["coverage"] == len(answers) / 4


def test_every_method_is_scored_on_just_what_each_partial_one_answers(
    of_four: dict[str, Any],
) -> None:
    assert of_four["covered"].keys() == set(PARTIAL)
    for partial, methods in of_four["covered"].items():
        assert methods.keys() == SAYS.keys()
        for name, entry in methods.items():
            (night,) = entry["nights"]
            on = [ratio for at, ratio in SAYS[name].items() if at in SAYS[partial]]
            expected = _figures(on)
            assert {figure: night[figure] for figure in expected} == pytest.approx(expected)
            assert entry["median"] == {figure: night[figure] for figure in SUMMARISED}


def test_only_partial_methods_that_are_compared_have_a_place_among_the_covered(
    store: LocalStore,
) -> None:
    filled(store.root, NIGHT_OF_FOUR)
    for compare, partial in (
        ((), set()),
        (("without-history", "family-median-else-model"), set()),
        (("lookup-table",), {"lookup-table"}),
    ):
        result = backtest(store, PLAIN, Plan(1, NIGHT, compare=compare))
        assert set(result["covered"]) == partial
        assert all(set(of) == {"model", *compare} for of in result["covered"].values())


def test_a_partial_method_without_an_answer_has_null_figures(store: LocalStore) -> None:
    runs = [_run("t1", 5, 100.0), _run("x1", 7, 110.0, batch_size=8)]
    result = _night(store, runs, "lookup-table", "family-median", "without-history")
    for partial in PARTIAL:
        (night,) = result["comparators"][partial]["nights"]
        assert (night["attempts"], night["coverage"]) == (0, 0.0)
        assert {night[figure] for figure in SUMMARISED} == {None}
        assert set(result["comparators"][partial]["median"].values()) == {None}
        for entry in result["covered"][partial].values():
            (night,) = entry["nights"]
            assert night["attempts"] == 0
            assert {night[figure] for figure in SUMMARISED} == {None}
            assert set(entry["median"].values()) == {None}


def test_a_night_without_attempts_has_no_coverage(store: LocalStore) -> None:
    result = _night(store, [_run("t1", 5, 100.0)], *PARTIAL)
    for entry in (result, *result["comparators"].values()):
        assert (entry["nights"][0]["attempts"], entry["nights"][0]["coverage"]) == (0, None)
