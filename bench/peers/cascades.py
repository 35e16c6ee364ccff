"""A cascade as each of the other predictors holds it, where its package is installed."""

import importlib.util
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np

from bench.cascades import Estimators, Size
from bench.peers.lightgbm_forest import LightgbmForest, TreeliteForest
from bench.peers.onnx_model import OnnxForest
from functions.retrain.learning.export import linked_trees
from leap_model.columns import Floats

Score: TypeAlias = Callable[[Floats], Floats]

MOST_TREES: Final = 10_000
"""Of the experts together, for LightGBM and Treelite: where a size has more, three experts stand
for all of its experts. That is converted in minutes rather than in the better part of an hour, and
is in their favour, as fewer bytes are in the way."""
_FEW: Final = 3


def peers(size: Size, fitted: Estimators) -> Iterator[tuple[str, Score]]:
    """Name and `predict` of each that is installed; the names say what is not the same as ours."""
    trees = [linked_trees(estimator) for estimator in (fitted.picker, *fitted.experts)]
    if _has("onnxruntime", "onnx"):
        runtimes = [OnnxForest(one) for one in trees]
        yield "ONNX Runtime, float32, no sets", _cascade([one.score for one in runtimes])
    if not _has("lightgbm"):
        return
    few = ""
    if len(fitted.experts) * size.expert_trees > MOST_TREES:
        trees, few = trees[: 1 + _FEW], f", {_FEW} experts"
    forests = [LightgbmForest(one) for one in trees]
    yield f"LightGBM, Booster.predict{few}", _cascade([one.by_predict for one in forests])
    yield f"LightGBM, C API, row by row{few}", _cascade([one.by_rows for one in forests])
    if not _has("treelite"):
        return
    lights = [TreeliteForest(one) for one in forests]
    yield f"Treelite{few}", _cascade([one.score for one in lights])


def same_trees(name: str) -> bool:
    """Whether a predictor has every tree as it is, so that its predictions are ours."""
    return "expert" not in name and "no sets" not in name


def _cascade(scores: list[Score]) -> Score:
    """`predict` of the picker's and the experts' scores, in turn where there are fewer experts."""
    picker, *experts = scores

    def predict(matrix: Floats) -> Floats:
        chosen = np.argmax(picker(matrix), axis=1)
        result = np.empty(len(matrix))
        for choice in np.unique(chosen):
            rows = chosen == choice
            result[rows] = experts[choice % len(experts)](matrix[rows])[:, 0]
        return result

    return predict


def _has(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)
