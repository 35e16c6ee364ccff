"""The benchmark's LightGBM text says what the trees say, by LightGBM's own published rules."""

from typing import Any

import numpy as np
import pytest

from bench.peers.lightgbm_text import lightgbm_text
from functions.retrain.learning.export import linked_trees
from leap_model.columns import Floats
from tests.unit.leap_model.test_trees import fitted, training_rows

KINDS = pytest.mark.parametrize("kind", ["regressor", "five classes"])


def _rows(categorical: bool) -> Floats:
    matrix, _ = training_rows(categorical, seed=5)
    return matrix[:400]


def _trees(text: str) -> list[dict[str, list[float]]]:
    trees: list[dict[str, list[float]]] = []
    for line in text.split("end of trees")[0].splitlines():
        name, _, values = line.partition("=")
        if name == "Tree":
            trees.append({})
        elif trees and values:
            trees[-1][name] = [float(value) for value in values.split()]
    return trees


def _leaf(tree: dict[str, list[float]], row: Floats) -> float:
    """LightGBM's descent: a set sends right what it does not name, a number by its default."""
    node = 0 if tree["num_leaves"][0] > 1 else -1
    while node >= 0:
        value = row[int(tree["split_feature"][node])]
        kind = int(tree["decision_type"][node])
        if kind & 1:
            at = int(tree["threshold"][node])
            first, end = (int(tree["cat_boundaries"][at + step]) for step in (0, 1))
            words = [int(word) for word in tree["cat_threshold"][first:end]]
            code = -1 if np.isnan(value) else int(value)
            left = 0 <= code < 32 * len(words) and words[code // 32] >> code % 32 & 1
        elif np.isnan(value):
            left = kind & 2
        else:
            left = value <= tree["threshold"][node]
        node = int(tree["left_child" if left else "right_child"][node])
    return tree["leaf_value"][~node]


@KINDS
@pytest.mark.parametrize("categorical", [False, True], ids=["numbers", "categories"])
def test_the_text_scores_as_the_estimator(kind: str, categorical: bool) -> None:
    estimator = fitted(kind, categorical)
    matrix = _rows(categorical)
    trees = _trees(lightgbm_text(linked_trees(estimator)))
    wanted = estimator._raw_predict(matrix).reshape(len(matrix), -1)
    outputs = wanted.shape[1]
    found = np.zeros_like(wanted)
    for at, tree in enumerate(trees):
        found[:, at % outputs] += [_leaf(tree, row) for row in matrix]
    assert np.allclose(found, wanted, 1e-9, 1e-9)


@KINDS
@pytest.mark.parametrize("categorical", [False, True], ids=["numbers", "categories"])
def test_lightgbm_and_treelite_score_as_the_estimator(kind: str, categorical: bool) -> None:
    pytest.importorskip("lightgbm")
    pytest.importorskip("treelite")
    from bench.peers.lightgbm_forest import LightgbmForest, TreeliteForest

    estimator = fitted(kind, categorical)
    matrix = _rows(categorical)
    wanted: Any = estimator._raw_predict(matrix).reshape(len(matrix), -1)
    forest = LightgbmForest(linked_trees(estimator))
    for found in (
        forest.by_predict(matrix),
        forest.by_rows(matrix),
        TreeliteForest(forest).score(matrix),
    ):
        assert np.allclose(found, wanted, 1e-9, 1e-9)


@KINDS
def test_onnx_runtime_scores_trees_of_numbers_as_the_estimator(kind: str) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from bench.peers.onnx_model import OnnxForest

    estimator = fitted(kind, categorical=False)
    # As float32 has them, which is what it reads.
    matrix = _rows(categorical=False).astype(np.float32).astype(np.float64)
    wanted = estimator._raw_predict(matrix).reshape(len(matrix), -1)
    found = OnnxForest(linked_trees(estimator)).score(matrix)
    assert np.mean(np.isclose(found, wanted, 1e-4, 1e-4)) > 0.99
