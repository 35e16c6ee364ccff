"""How many attempts lay within the intervals that a ranking would have told."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.backtest import Plan, backtest
from functions.retrain.coverage import coverage, coverage_over
from functions.retrain.learning import recalling
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.report.backtest_page import backtest_page
from functions.retrain.report.nightly_page import nightly_page
from functions.retrain.training import ranked_types
from leap_model.intervals import (
    COLD,
    EXTRAPOLATED,
    OWN_ELSEWHERE,
    OWN_HERE,
    UNFAMILIAR,
    Band,
    Intervals,
)
from leap_model.references import Known
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import TINY, judged_case, night
from tests.unit.retrain.pages import sound

NET = ResidualNetwork(members=1, width=8, blocks=1, vector=2, epochs=1.0, least_steps=20)
TWICE = np.log(2.0)
BANDS = Intervals({OWN_HERE: Band(100, -0.1, 0.1), COLD: Band(100, -TWICE, TWICE)})


def test_attempts_are_counted_by_what_was_known_and_by_power_of_ten() -> None:
    predicted = np.array([100.0, 100.0, 100.0, 2_000.0, 2_000.0])
    measured = np.array([105.0, 120.0, 95.0, 1_100.0, 900.0])
    group = np.array([OWN_HERE, OWN_HERE, OWN_HERE, COLD, COLD])
    found = coverage(BANDS, predicted, group, measured)
    assert found is not None
    assert (found["attempts"], found["within"]) == (5, 0.6)
    by_group, by_decade = found["by_group"], found["by_decade"]
    assert list(by_group) == ["family on this type", "cold"]
    assert by_group["family on this type"]["within"] == pytest.approx(2 / 3)
    assert by_group["family on this type"]["width"] == pytest.approx(np.exp(0.2))
    assert by_group["cold"] == {"attempts": 2, "within": 0.5, "width": pytest.approx(4.0)}
    assert {name: part["attempts"] for name, part in by_decade.items()} == {"1e2": 3, "1e3": 2}


def test_without_intervals_or_attempts_nothing_is_told() -> None:
    none = np.zeros(0)
    assert coverage(None, none, none.astype(np.int64), none) is None
    found = coverage(BANDS, none, none.astype(np.int64), none)
    assert found == {"attempts": 0, "within": None, "width": None, "by_group": {}, "by_decade": {}}


def test_predictions_of_nothing_are_counted() -> None:
    found = coverage(BANDS, np.zeros(1), np.array([COLD]), np.ones(1))
    assert found is not None
    assert (found["attempts"], found["within"]) == (1, 0.0)


def test_what_is_known_is_what_a_ranking_says(store: LocalStore) -> None:
    trained, judged, _ = judged_case(filled(store.root, fleet(320)))
    types = set(trained.hardware_rows)
    groups, none, others = (
        replace(judged, ranked=ranked).groups for ranked in (types, (), types - {"fast-8"})
    )
    assert set(groups) <= {COLD, OWN_ELSEWHERE}
    assert ((groups == COLD) == judged.cold).all()
    assert (none == EXTRAPOLATED).all()
    hardware = judged.attempts.jobs.hardware_type
    on_it = hardware.codes == hardware.values.index("fast-8")
    assert ((others == EXTRAPOLATED) == on_it).all()


def test_types_with_few_rows_are_extrapolated_to(store: LocalStore) -> None:
    trained, _, _ = judged_case(filled(store.root, fleet(320)))
    few = min(trained.hardware_rows, key=lambda name: trained.hardware_rows[name])
    least = trained.hardware_rows[few] + 1
    others = set(trained.hardware_rows) - {few}
    assert ranked_types(trained.hardware_rows, replace(TINY, min_hardware_rows=least)) <= others
    assert few in ranked_types(trained.hardware_rows, replace(TINY, min_hardware_rows=least - 1))


def test_what_resembles_an_attempt_says_more(store: LocalStore) -> None:
    _, judged, _ = judged_case(filled(store.root, fleet(320)))
    what = np.resize(np.array([OWN_HERE, UNFAMILIAR], np.int8), len(judged.attempts))
    none = np.zeros(len(what))
    types = judged.attempts.jobs.hardware_type.values
    shown = replace(judged, ranked=types, known=Known(none, none, none, what))
    assert shown.groups.tolist() == what.tolist()


def test_a_night_tells_whether_its_intervals_held(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "FEWEST", 20)
    monkeypatch.setattr("functions.retrain.learning.conformal.FEWEST", 20)
    metrics = night(filled(store.root, fleet(420)), settings=replace(TINY, estimator=NET))
    found = metrics["intervals"]
    assert found["attempts"] == metrics["evaluation"]["attempts"]
    assert 0 < found["within"] <= 1
    assert found["width"] > 1
    assert "where 80 % should be" in sound(nightly_page(metrics)).said
    without = copy.deepcopy(metrics)
    without["intervals"] = None
    assert "where 80 % should be" not in sound(nightly_page(without)).said


def test_nights_are_counted_together() -> None:
    group, measured = np.array([OWN_HERE, COLD]), np.array([100.0, 900.0])
    first = coverage(BANDS, np.array([100.0, 100.0]), group, measured)
    second = coverage(BANDS, np.array([2_000.0, 1_000.0]), group, measured)
    both = coverage_over([first, None, second])
    assert first is not None
    assert both is not None
    assert (first["within"], both["attempts"], both["within"]) == (0.5, 4, 0.5)
    assert both["by_group"]["family on this type"]["within"] == 0.5
    assert both["by_group"]["cold"]["attempts"] == 2
    assert {name: part["within"] for name, part in both["by_decade"].items()} == {
        "1e2": 0.5,
        "1e3": 0.5,
    }
    assert both["by_group"]["cold"]["width"] == pytest.approx(4.0)
    assert coverage_over([None]) is None
    empty = coverage(BANDS, np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
    nothing = coverage_over([empty])
    assert nothing is not None
    assert (nothing["attempts"], nothing["within"], nothing["width"]) == (0, None, None)


def test_a_backtest_tells_whether_intervals_held(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "FEWEST", 20)
    monkeypatch.setattr("functions.retrain.learning.conformal.FEWEST", 20)
    settings = replace(TINY, estimator=NET, window_days=30)
    result = backtest(filled(store.root, fleet(420)), settings, Plan(nights=2))
    found = result["intervals"]
    assert found["attempts"] == sum(night["attempts"] for night in result["nights"])
    assert 0 < found["within"] <= 1
    page = sound(backtest_page(result)).said
    assert "where 80 % should be" in page
    assert found["by_group"]
    assert all(name in page for name in found["by_group"])
    assert (
        backtest(store, replace(settings, estimator=TINY.estimator), Plan(nights=1))["intervals"]
        is None
    )
