"""The model is the same, byte for byte, whatever the processes and threads that learn it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.retrain.learning.boosting import Boosting, classifier, regressor
from functions.retrain.learning.estimator import Fitted, TrainingSet
from leap_model.artifact import Packed, pack
from leap_model.trees import Forest
from tests.unit.learning.samples import SMALL, artifact_of, training_set

ESTIMATOR = replace(SMALL, rounds=2, expert_trees=6, deciding_trees=3, least_moved=0.0)


@pytest.fixture(scope="module")
def training() -> TrainingSet:
    """6,000 rows of numbers, categories and missing values."""
    draw = np.random.default_rng(0)
    matrix = draw.normal(size=(6000, 6))
    matrix[:, 3] = draw.integers(0, 6, 6000)
    values = np.sin(2 * matrix[:, 0]) + np.cos(matrix[:, 3]) + draw.normal(size=6000)
    matrix[draw.random(matrix.shape) < 0.05] = np.nan
    return training_set(matrix, values, [3])


def packed(fitted: Fitted, training: TrainingSet) -> Packed:
    return pack(artifact_of(fitted.model, training, ESTIMATOR))


@pytest.fixture(scope="module")
def alone(training: TrainingSet) -> Fitted:
    return ESTIMATOR.fit(training, seed=0, processes=1)


@pytest.mark.parametrize("processes", [2, 3])
def test_any_number_of_processes_learns_the_same_model(
    training: TrainingSet, alone: Fitted, processes: int
) -> None:
    fitted = ESTIMATOR.fit(training, seed=0, processes=processes)
    assert packed(fitted, training) == packed(alone, training)
    for name in ("bins", "first_rows_per_bin", "rows_per_bin", "class_map", "trees_per_expert"):
        assert fitted.notes[name] == alone.notes[name]
    for one, other in zip(fitted.notes["rounds"], alone.notes["rounds"], strict=True):
        assert {**one, "cpu_seconds": None} == {**other, "cpu_seconds": None}
    assert (fitted.notes["processes"], alone.notes["processes"]) == (processes, 1)
    assert fitted.workers_mb > 10
    assert alone.workers_mb == 0


def test_other_rows_are_another_model(training: TrainingSet, alone: Fitted) -> None:
    values = training.values.copy()
    values[:100] += 1.0
    other = ESTIMATOR.fit(replace(training, values=values), seed=0, processes=1)
    assert packed(other, training).version != packed(alone, training).version


TINY = Boosting(trees=6, leaves=8, learning_rate=0.3, least_rows_per_leaf=20)


@pytest.mark.parametrize("learnt", ["values", "two classes", "four classes"])
def test_a_fit_of_two_threads_is_that_of_one(training: TrainingSet, learnt: str) -> None:
    values = training.values
    classes = np.digitize(values, np.quantile(values, [0.5, 0.7, 0.9]))
    targets: dict[str, tuple[Callable[..., Forest], Any]] = {
        "values": (regressor, values),
        "two classes": (classifier, np.minimum(classes, 1)),
        "four classes": (classifier, classes),
    }
    fit, target = targets[learnt]
    categorical = training.schema.is_categorical()
    one, two = (
        fit(training.matrix, target, categorical, TINY, seed=0, threads=threads).to_bytes()
        for threads in (1, 2)
    )
    assert one == two
