"""Turns scikit-learn's histogram gradient boosting into the forest that serves.

Reads scikit-learn's private tree records, whose layout a release may change: the version is
pinned, and a test holds the export equal to scikit-learn's own predictions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.linked import CODES_PER_SET, LinkedTrees
from functions.retrain.learning.packing import packed
from leap_model.columns import Floats
from leap_model.forest_file import Array
from leap_model.trees import Forest


def export_forest(estimator: Any) -> Forest:
    """The forest of a fitted HistGradientBoostingRegressor or -Classifier.

    Its scores are the estimator's raw predictions: the value for absolute error, log-odds for a
    classifier, one output a class of `classes_` (a single one for two classes).
    """
    return packed(linked_trees(estimator))


def linked_trees(estimator: Any) -> LinkedTrees:
    """The trees of the same, as nodes that name their children."""
    columns = _Columns(estimator)
    trees = [tree for iteration in estimator._predictors for tree in iteration]
    outputs = [output for iteration in estimator._predictors for output in range(len(iteration))]
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = np.array([len(tree.nodes) for tree in trees])
    sets = [np.ascontiguousarray(tree.raw_left_cat_bitsets, "<u4") for tree in trees]
    roots = np.cumsum(sizes) - sizes
    held = np.array([len(of_tree) for of_tree in sets])
    first_node = np.repeat(roots, sizes)
    set_index = nodes["bitset_idx"].astype(np.int64) + np.repeat(np.cumsum(held) - held, sizes)
    leaf = nodes["is_leaf"].astype(bool)
    categorical = _has_set(nodes)
    return LinkedTrees(
        n_inputs=estimator.n_features_in_,
        baseline=np.ravel(estimator._baseline_prediction),
        roots=roots,
        outputs=np.array(outputs),
        leaf=leaf,
        missing_left=nodes["missing_go_to_left"] != 0,
        by_set=categorical,
        column=np.where(leaf, 0, columns.original[nodes["feature_idx"]]),
        value=np.where(leaf, nodes["value"], np.where(categorical, 0, _thresholds(nodes))),
        left=np.where(leaf, 0, nodes["left"].astype(np.int64) + first_node),
        right=np.where(leaf, 0, nodes["right"].astype(np.int64) + first_node),
        set_index=np.where(categorical, set_index, -1),
        sets=_left_sets(nodes[categorical], set_index[categorical], np.concatenate(sets), columns),
    )


class _Columns:
    """scikit-learn moves categorical columns to the front and renumbers their codes: the way back.

    Attributes
    ----------
    original : (features,) int
        Our column of each of theirs.
    codes : list
        For each of their columns, the code of ours that each of their codes stands for (None for
        numbers).
    """

    def __init__(self, estimator: Any) -> None:
        features = estimator.n_features_in_
        mask = estimator.is_categorical_
        if mask is None:
            self.original: NDArray[np.intp] = np.arange(features)
            self.codes: list[Floats | None] = [None] * features
            return
        self.original = np.concatenate((np.flatnonzero(mask), np.flatnonzero(~mask)))
        encoder = estimator._preprocessor.named_transformers_["encoder"]
        known = [codes[~np.isnan(codes)] for codes in encoder.categories_]
        self.codes = [*known, *([None] * (features - len(known)))]


def _left_sets(
    splits: Array, set_index: Array, theirs: Array, columns: _Columns
) -> NDArray[np.uint8]:
    """(sets, 32) the codes of ours that go left at each categorical split, unseen ones decided.

    `set_index` is the row of each split in `theirs`, (sets, 8) the words of their bits.
    """
    bits = np.unpackbits(theirs.view(np.uint8), axis=1, bitorder="little")
    ours = np.zeros((len(bits), CODES_PER_SET), np.uint8)
    ours[set_index] = splits["missing_go_to_left"][:, np.newaxis]
    for column in np.unique(splits["feature_idx"]):
        codes = columns.codes[column]
        if codes is None:
            raise ValueError("a categorical split on a column of numbers")
        rows = set_index[splits["feature_idx"] == column]
        ours[rows[:, np.newaxis], codes.astype(np.intp)] = bits[rows, : len(codes)]
    return np.packbits(ours, axis=1, bitorder="little")


def _has_set(nodes: Array) -> NDArray[np.bool_]:
    """Which nodes split by a set of categories.

    A category column with one value and missing ones is split by "is missing" alone: scikit-learn
    gives it the threshold infinity and no set, and its `bitset_idx` points at another split's.
    `_thresholds` makes it a split of numbers.
    """
    by_set = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    return np.asarray(by_set & (nodes["num_threshold"] != np.inf), np.bool_)


def _thresholds(nodes: Array) -> Floats:
    """(nodes,) thresholds; a split by "is missing" sends every known category the other way."""
    by_missing = (nodes["is_categorical"] != 0) & (nodes["num_threshold"] == np.inf)
    missing_left = nodes["missing_go_to_left"] != 0
    return np.where(by_missing & missing_left, -np.inf, nodes["num_threshold"])
