"""Tree engine: 20 candidates, 500 trees of 63 leaves, against scikit-learn's own predict."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from bench.timing import milliseconds
from functions.retrain.learning.export import export_forest

COLUMNS = ("engine", "median ms", "p99 ms", "times faster")


def run() -> list[tuple[object, ...]]:
    """Both engines on the same forest and rows, one thread, in this process."""
    draw = np.random.default_rng(0)
    matrix = draw.normal(size=(20_000, 75))
    matrix[:, 0] = draw.integers(0, 200, len(matrix))
    target = matrix[:, 1] * 2 + matrix[:, 0] % 7 + draw.normal(size=len(matrix))
    categorical = [True] + [False] * 74
    with threadpool_limits(1):
        fitted = HistGradientBoostingRegressor(
            max_iter=500,
            max_leaf_nodes=63,
            categorical_features=categorical,
            early_stopping=False,
            random_state=0,
        ).fit(matrix, target)
        forest = export_forest(fitted)
        candidates = matrix[:20]
        theirs = milliseconds(lambda: fitted.predict(candidates), 200)
        ours = milliseconds(lambda: forest.score(candidates), 200)
    return [
        ("scikit-learn predict", f"{theirs[0]:.2f}", f"{theirs[1]:.2f}", "1.0"),
        ("flat arrays, numpy", f"{ours[0]:.2f}", f"{ours[1]:.2f}", f"{theirs[0] / ours[0]:.1f}"),
    ]
