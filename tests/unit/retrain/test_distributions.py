"""Counts and quantiles by hand, and that no attempt is lost or counted twice."""

import json

import numpy as np
import pytest

from functions.retrain.distributions import by_label, calibration, density
from leap_model.columns import Labels


def test_cells_are_of_equal_ratio_and_hold_their_lower_end() -> None:
    measured = np.array([1.0, 10.0, 1_000.0, 1_258.0, 1_260.0])
    found = density(measured, measured)
    assert found["per_decade"] == 10
    assert found["cells"] == [[0, 0, 1], [10, 10, 1], [30, 30, 2], [31, 31, 1]]
    assert found["outside"] == 0


def test_measured_and_predicted_are_told_apart() -> None:
    assert density(np.array([1.0]), np.array([5.0]))["cells"] == [[0, 6, 1]]


@pytest.mark.parametrize("far", [0.0, 1e-300, 0.0999, 1001.0, np.inf])
def test_predictions_beyond_all_that_was_measured_are_counted_apart(far: float) -> None:
    found = density(np.array([1.0, 100.0]), np.array([far, 100.0]))
    assert (found["cells"], found["outside"]) == ([[20, 20, 1]], 1)


@pytest.mark.parametrize("decades", [0, 1, 4, 5, 14, 30, 200])
def test_every_attempt_is_in_one_cell_and_cells_are_few(decades: int) -> None:
    draw = np.random.default_rng(decades)
    measured = 10 ** draw.uniform(-9, -9 + decades, 5_000)
    found = density(measured, measured * np.exp(draw.normal(0, 0.3, len(measured))))
    assert sum(count for *_, count in found["cells"]) + found["outside"] == 5_000
    places = [place for cell in found["cells"] for place in cell[:2]]
    assert max(places) - min(places) <= max(64, decades + 2)
    assert json.loads(json.dumps(found)) == found


def test_tenths_are_of_predictions_in_their_order() -> None:
    predicted = np.arange(1.0, 101.0)[::-1]
    tenths = calibration(predicted / 2, predicted)
    assert [(tenth["from"], tenth["to"]) for tenth in tenths] == [
        (1.0 + 10 * at, 10.0 + 10 * at) for at in range(10)
    ]
    for tenth in tenths:
        assert tenth["attempts"] == 10
        assert tenth["p5"] == tenth["p50"] == tenth["p95"] == 2.0


def test_few_or_broken_predictions_leave_fewer_tenths() -> None:
    measured = np.ones(4)
    tenths = calibration(measured, np.array([2.0, 0.0, np.inf, 1.0]))
    assert [tenth["p50"] for tenth in tenths] == [1.0, 2.0]
    assert calibration(np.zeros(0), np.zeros(0)) == []


def test_quantiles_are_of_each_text_by_itself() -> None:
    labels = Labels.of(["b", "a", "b", None, "b"])
    found = by_label(labels, np.array([1.0, 7.0, 3.0, 99.0, 2.0]))
    assert list(found) == ["a", "b"]
    assert found["a"] == {"attempts": 1} | dict.fromkeys(("p5", "p25", "p50", "p75", "p95"), 7.0)
    assert (found["b"]["attempts"], found["b"]["p50"]) == (3, 2.0)
