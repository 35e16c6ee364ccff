"""One fit of histogram gradient boosting, as the forest that serves.

Early stopping is off throughout: it would split rows by their order, change with their number,
and refuse a class of one row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leap_model.columns import Floats, Ints, Matrix
from leap_model.trees import Forest, constant_forest


@dataclass(frozen=True, slots=True)
class Boosting:
    """The size of a fit. `trees` are iterations: a classifier grows one tree a class in each."""

    trees: int
    leaves: int
    learning_rate: float
    least_rows_per_leaf: int


def regressor(
    matrix: Matrix,
    values: Floats,
    categorical: Sequence[bool],
    boosting: Boosting,
    seed: int,
    threads: int,
) -> Forest:
    """A forest of the median of (n,) values given an (n, columns) matrix, n at least 1.

    The loss is the absolute error, which is twice the pinball loss at the median. Rows too few
    to split give their median, without a tree.
    """
    if len(values) < 2 * boosting.least_rows_per_leaf:
        return constant_forest(matrix.shape[1], float(np.median(values)))
    # Here, so that naming an estimator does not cost the second that scikit-learn takes.
    from sklearn.ensemble import HistGradientBoostingRegressor

    estimator = HistGradientBoostingRegressor(
        loss="absolute_error", **_options(boosting, categorical, seed)
    )
    return _fitted(estimator, matrix, values, threads)


def classifier(
    matrix: Matrix,
    classes: Ints,
    categorical: Sequence[bool],
    boosting: Boosting,
    seed: int,
    threads: int,
) -> Forest:
    """A forest of the log-odds of (n,) classes, two different ones at least.

    Its outputs are the classes that have rows, in ascending order: a class without any has none,
    and shifts those after it. Two classes have a single output, the second one's log-odds.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    estimator = HistGradientBoostingClassifier(**_options(boosting, categorical, seed))
    return _fitted(estimator, matrix, classes, threads)


def _options(boosting: Boosting, categorical: Sequence[bool], seed: int) -> dict[str, Any]:
    return {
        "max_iter": boosting.trees,
        "max_leaf_nodes": boosting.leaves,
        "learning_rate": boosting.learning_rate,
        "min_samples_leaf": boosting.least_rows_per_leaf,
        "categorical_features": list(categorical),
        "early_stopping": False,
        "random_state": seed,
    }


def _fitted(estimator: Any, matrix: Matrix, target: Floats | Ints, threads: int) -> Forest:
    from threadpoolctl import threadpool_limits

    from functions.retrain.learning.export import export_forest

    with threadpool_limits(threads, user_api="openmp"):
        estimator.fit(_without_empty_columns(matrix), target)
    return export_forest(estimator)


def _without_empty_columns(matrix: Matrix) -> Matrix:
    """The matrix with columns that are missing in every row set to 0, which no tree splits.

    scikit-learn refuses a column without a value, and the rows of one bin may well have one:
    what only some jobs state, or the history of families that never ran.
    """
    empty = np.isnan(matrix).all(axis=0)
    if not empty.any():
        return matrix
    filled = matrix.copy(order="F")
    filled[:, empty] = 0.0
    return filled
