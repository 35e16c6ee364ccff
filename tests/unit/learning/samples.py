"""Training sets whose right bins are known, and a cascade that fits them in a moment."""

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.learning import cascade
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import TrainingSet
from leap_model.artifact import Artifact
from leap_model.columns import Floats, Ints, Matrix
from leap_model.features.schema import CategoryColumn, NumberColumn, Schema
from leap_model.model import Model
from tests.unit.leap_model.builders import tiny_artifact

SMALL = Cascade(
    bins=4,
    least_rows_per_leaf=5,
    expert_trees=30,
    expert_leaves=8,
    expert_learning_rate=0.3,
    deciding_trees=4,
    classifier_trees=6,
    classifier_leaves=8,
    classifier_learning_rate=0.3,
)
SLOPES = (1.0, -2.0, 2.0, -1.0)


def training_set(matrix: Matrix, values: Floats, categories: Collection[int] = ()) -> TrainingSet:
    """Rows of nameless numbers, or of codes from 0 to 5 in the columns that are `categories`."""
    columns = [
        CategoryColumn(f"config_text.c{at}", tuple("abcdef"), other=False)
        if at in categories
        else NumberColumn(f"config.c{at}")
        for at in range(matrix.shape[1])
    ]
    return TrainingSet(np.asfortranarray(matrix), values, Schema(tuple(columns), ()))


def regimes(*rows: int, seed: int = 0) -> TrainingSet:
    """`rows` of each regime: one is 10 above the last, and follows the other column its own way."""
    draw = np.random.default_rng(seed)
    regime = draw.permutation(np.repeat(np.arange(len(rows)), rows))
    x = draw.uniform(-1, 1, len(regime))
    values = 10.0 * regime + np.array(SLOPES)[regime] * x
    return training_set(np.column_stack([regime, x]), values)


def noise(rows: int, columns: int = 3, seed: int = 0) -> TrainingSet:
    """Rows that no cascade can sort out: half of the target is noise."""
    draw = np.random.default_rng(seed)
    matrix = draw.normal(size=(rows, columns))
    return training_set(matrix, np.sin(2 * matrix[:, 0]) + draw.normal(size=rows))


def moving(monkeypatch: pytest.MonkeyPatch, to: Callable[[Ints], Ints]) -> None:
    """Rows move from their places to what `to` says, however good the experts are."""
    monkeypatch.setattr(cascade, "nearest_expert", lambda errors, current: to(current))


def expert_score(model: Model, number: int, matrix: Matrix) -> Floats:
    """(n,) what the expert of one bin says of every row."""
    return model.forests[f"expert-{number:02}"].score(matrix)[:, 0]


def artifact_of(model: Model, training: TrainingSet, estimator: Cascade = SMALL) -> Artifact:
    """The model as a night would pack it."""
    settings = dict(estimator.settings())
    return replace(tiny_artifact(estimator=settings), model=model, schema=training.schema)
