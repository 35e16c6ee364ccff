"""The cascade where the right bins are known, and where there is less than it asks for."""

from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import TrainingSet
from leap_model.artifact import load, pack, publish
from leap_model.model import Model
from leap_model.store import LocalStore
from tests.unit.learning.samples import (
    SMALL,
    artifact_of,
    expert_score,
    noise,
    regimes,
    training_set,
)

CLOSE = 5e-3
"""As near as this an expert of one value is to it."""


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_a_cascade_of_as_many_bins_as_regimes_learns_each_by_itself(levels: int) -> None:
    training, unseen = regimes(*[300] * levels), regimes(*[50] * levels, seed=1)
    fitted = replace(SMALL, bins=levels).fit(training, seed=0, processes=1)
    assert fitted.notes["rows_per_bin"] == [300] * levels
    assert fitted.notes["class_map"] == list(range(levels))
    assert fitted.notes["rounds"][0]["moved"] == 0.0

    predicted = fitted.model.predict(unseen.matrix)
    np.testing.assert_allclose(predicted, unseen.values, atol=0.4)
    for regime in range(levels):
        rows = unseen.matrix[:, 0] == regime
        own = expert_score(fitted.model, regime, unseen.matrix[rows])
        assert predicted[rows].tolist() == own.tolist()


UNEVEN = Cascade(
    bins=2,
    least_rows_per_leaf=5,
    expert_trees=60,
    expert_leaves=8,
    deciding_trees=1,
    classifier_trees=6,
    classifier_leaves=8,
    classifier_learning_rate=0.3,
)


def test_rows_cut_off_from_their_regime_move_to_its_expert() -> None:
    """The median cuts through the larger regime: 100 of its 600 rows begin with the other."""
    training, unseen = regimes(600, 400), regimes(60, 40, seed=1)
    fitted = UNEVEN.fit(training, seed=0, processes=1)
    first, second = fitted.notes["rounds"]
    assert fitted.notes["first_rows_per_bin"] == [500, 500]
    assert (first["moved"], first["rows_per_bin"]) == (0.1, [600, 400])
    assert first["loss_before"] - first["loss_after"] > 0.1 * 5
    assert (second["moved"], second["rows_per_bin"]) == (0.0, [600, 400])
    assert fitted.notes["rows_per_bin"] == [600, 400]

    predicted = fitted.model.predict(unseen.matrix)
    np.testing.assert_allclose(predicted, unseen.values, atol=0.4)
    lower = unseen.matrix[:, 0] == 0
    own = expert_score(fitted.model, 0, unseen.matrix[lower])
    assert predicted[lower].tolist() == own.tolist()


def test_the_first_bins_alone_leave_the_rows_cut_off() -> None:
    fitted = replace(UNEVEN, rounds=0).fit(regimes(600, 400), seed=0, processes=1)
    assert fitted.notes["rows_per_bin"] == [500, 500]


@pytest.mark.parametrize(
    ("rows", "least", "made"), [(100, 40, 2), (79, 40, 1), (39, 40, 1), (1, 40, 1), (9, 1, 9)]
)
def test_few_rows_make_fewer_bins(rows: int, least: int, made: int) -> None:
    training = noise(rows)
    estimator = replace(SMALL, bins=13, rounds=0, least_rows_per_bin=least)
    fitted = estimator.fit(training, seed=0, processes=1)
    assert fitted.notes["bins"] == made
    assert len(fitted.notes["class_map"]) == made
    sizes = fitted.notes["first_rows_per_bin"]
    assert len(sizes) == 13
    assert sum(sizes) == rows
    assert sizes[made:] == [0] * (13 - made)
    assert np.all(np.isfinite(fitted.model.checked().predict(training.matrix)))


@pytest.mark.parametrize(("least", "expected"), [(40, [100, 0]), (1, [99, 1])])
def test_values_that_repeat_leave_no_bin_of_fewer_rows_than_the_least(
    least: int, expected: list[int]
) -> None:
    training = replace(noise(100), values=np.append(np.zeros(99), 1.0))
    estimator = replace(SMALL, bins=2, least_rows_per_bin=least)
    assert estimator.fit(training, seed=0, processes=1).notes["first_rows_per_bin"] == expected


@pytest.mark.parametrize("least", [40, 1])
def test_a_constant_target_is_predicted_by_one_expert(least: int) -> None:
    training = replace(noise(200), values=np.full(200, 3.5))
    fitted = replace(SMALL, least_rows_per_bin=least).fit(training, seed=0, processes=1)
    assert (fitted.notes["bins"], fitted.notes["class_map"]) == (1, [0])
    assert (fitted.notes["rounds"], fitted.notes["rows_per_bin"]) == ([], [200, 0, 0, 0])
    np.testing.assert_allclose(fitted.model.checked().predict(training.matrix), 3.5, atol=CLOSE)


def test_a_single_bin_is_a_single_median_regressor() -> None:
    training = noise(300)
    fitted = replace(SMALL, bins=1).fit(training, seed=0, processes=1)
    assert list(fitted.model.forests) == ["regressor"]
    assert fitted.notes["trees_per_expert"] == [30]


def test_two_values_make_two_bins_told_apart_by_one_log_odds() -> None:
    matrix = noise(400).matrix
    training = training_set(matrix, np.where(matrix[:, 1] > 0.8, 4.0, -4.0))
    fitted = replace(SMALL, bins=13).fit(training, seed=0, processes=1)
    assert fitted.notes["bins"] == 2
    assert fitted.model.forests["classifier"].score(matrix).shape == (400, 1)
    predicted = fitted.model.checked().predict(matrix)
    assert np.mean(np.abs(predicted - training.values) < CLOSE) > 0.99


@pytest.fixture(params=[1, 2, 4])
def any_size(request: pytest.FixtureRequest) -> tuple[TrainingSet, Model]:
    training = regimes(200, 200, 200, 200)
    fitted = replace(SMALL, bins=request.param).fit(training, seed=0, processes=1)
    return training, fitted.model


def test_a_cascade_that_was_published_predicts_as_it_did(
    store: LocalStore, any_size: tuple[TrainingSet, Model]
) -> None:
    training, model = any_size
    packed = pack(artifact_of(model, training))
    publish(store, "models/m", packed)
    loaded = load(store.folder("models/m"), packed.manifest_sha256)
    assert loaded.model.predict(training.matrix).tobytes() == (
        model.predict(training.matrix).tobytes()
    )
