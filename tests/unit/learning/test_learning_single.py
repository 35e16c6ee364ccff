"""The single regressor: what the scale column carries, and what it does without one."""

from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.single import Single
from leap_model.features.schema import NumberColumn, Schema

SCALED = Single(trees=30, leaves=8, learning_rate=0.3)
PLAIN = replace(SCALED, name="plain", scaled=False)


@pytest.fixture(scope="module")
def rows() -> TrainingSet:
    """The target grows one to one with the second column, and in a step with the first."""
    matrix = np.asfortranarray(np.random.default_rng(0).uniform(0, 2, (600, 2)))
    values = matrix[:, 1] + np.where(matrix[:, 0] > 1, 5.0, 0.0)
    schema = Schema((NumberColumn("config.x"), NumberColumn("ratio.log_peak")), ())
    return TrainingSet(matrix, values, schema, scale="ratio.log_peak")


BEYOND = np.array([[0.5, 9.0], [1.5, 9.0]])


def test_a_scale_carries_predictions_beyond_what_was_seen(rows: TrainingSet) -> None:
    fitted = SCALED.fit(rows, seed=0)
    np.testing.assert_allclose(fitted.model.predict(BEYOND), [9.0, 14.0], atol=0.05)
    assert (fitted.notes, fitted.workers_mb) == ({}, 0.0)


def test_without_scale_no_prediction_leaves_what_was_seen(rows: TrainingSet) -> None:
    predicted = PLAIN.fit(rows, seed=0).model.predict(BEYOND)
    np.testing.assert_allclose(predicted, [2.0, 7.0], atol=0.2)


@pytest.mark.parametrize("scale", [None, "ratio.log_accelerators"], ids=["none", "absent"])
def test_where_the_scale_is_no_column_scaled_is_plain(rows: TrainingSet, scale: str | None) -> None:
    without = replace(rows, scale=scale)
    one, other = SCALED.fit(without, seed=0).model, PLAIN.fit(rows, seed=0).model
    assert one.steps == other.steps
    assert one.predict(rows.matrix).tolist() == other.predict(rows.matrix).tolist()


def test_a_handful_of_rows_is_their_median_over_the_scale(rows: TrainingSet) -> None:
    values = rows.matrix[:9, 1].astype(np.float64) + 3.0
    few = replace(rows, matrix=rows.matrix[:9], values=values)
    np.testing.assert_allclose(SCALED.fit(few, seed=0).model.predict(BEYOND), [12.0, 12.0])
