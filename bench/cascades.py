"""Cascades of two sizes as scikit-learn holds them, for benchmarks of engines.

Trees are grown for their size and shape alone: squared error, which is fitted sooner than the
absolute error of the presets, and few rows a leaf, so that few rows fill large trees.
"""

import copy
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from bench.fleets import START, simulated
from functions.retrain.dataset import read_records
from functions.retrain.learning.bins import equal_frequency
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.training import training_set
from leap_model.columns import Floats, Matrix
from leap_model.features import Schema
from leap_model.features.raw import FEATURES_VERSION
from leap_model.reading import partition_days
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from leap_model.times import start_of

BINS: Final = 13
# What features of one version fitted, another does not read.
KEPT: Final = Path(tempfile.gettempdir()) / f"leap-bench-cascades-{FEATURES_VERSION}"


@dataclass(frozen=True, slots=True)
class Size:
    """Trees and leaves of the classifier (trees a class) and of each expert."""

    name: str
    classifier_trees: int
    classifier_leaves: int
    expert_trees: int
    expert_leaves: int


SIZES: Final = (Size("small", 60, 31, 200, 63), Size("full", 300, 255, 3_000, 255))
"""`full` is the published system's, with as large trees in the classifier as in its experts."""
GROWN: Final = 30
"""Iterations that are fitted, and kept from run to run; the rest are variants of these."""


@dataclass(frozen=True, slots=True)
class Estimators:
    """One that picks an expert, the experts, and rows as a fleet has them."""

    picker: Any
    experts: list[Any]
    matrix: Matrix
    schema: Schema

    def predict(self, matrix: Matrix) -> Floats:
        """(n,) what scikit-learn predicts, each row by the expert that is picked for it."""
        chosen = self.picker.predict(matrix)
        result = np.empty(len(matrix))
        for choice in np.unique(chosen):
            rows = chosen == choice
            result[rows] = self.experts[choice].predict(matrix[rows])
        return result


def estimators(size: Size) -> Estimators:
    """Those of a size: read where an earlier run left them, else fitted."""
    KEPT.mkdir(exist_ok=True)
    rows = _rows()
    bins = equal_frequency(rows.values, BINS)
    picker = _picker(size, rows, bins)
    experts = [_expert(size, number, rows, bins) for number in range(BINS)]
    return Estimators(picker, experts, rows.matrix, rows.schema)


def _rows() -> TrainingSet:
    """25,000 attempts of a simulated fleet."""
    file = KEPT / "rows.joblib"
    if file.exists():
        kept: TrainingSet = joblib.load(file)
        return kept
    target, end = TARGETS["throughput"], START + timedelta(days=8)
    with simulated(8, 5_000) as (_, store):
        catalogue = stored_catalogue(store)
        records = read_records(store, partition_days(store), START, end, catalogue, target)
        attempts = records.attempts_between(end - timedelta(days=5), end).usable()
        rows = training_set(attempts, records.outcomes_before(start_of(end)), catalogue, target)
    joblib.dump(rows, file)
    return rows


def _expert(size: Size, number: int, rows: TrainingSet, bins: Any) -> Any:
    mine = bins == number
    fitted = _fitted(
        HistGradientBoostingRegressor,
        KEPT / f"{size.name}-expert-{number:02}.joblib",
        _constants(min(size.expert_trees, GROWN), size.expert_leaves, rows),
        rows.matrix[mine],
        rows.values[mine],
    )
    return _extended(fitted, size.expert_trees, rows.schema.is_categorical())


def _picker(size: Size, rows: TrainingSet, bins: Any) -> Any:
    fitted = _fitted(
        HistGradientBoostingClassifier,
        KEPT / f"{size.name}-picker.joblib",
        _constants(min(size.classifier_trees, GROWN), size.classifier_leaves, rows),
        rows.matrix,
        bins,
    )
    return _extended(fitted, size.classifier_trees, rows.schema.is_categorical())


def _constants(trees: int, leaves: int, rows: TrainingSet) -> dict[str, Any]:
    return {
        "max_iter": trees,
        "max_leaf_nodes": leaves,
        "learning_rate": 0.03,
        "min_samples_leaf": 5,
        "categorical_features": rows.schema.is_categorical(),
        "early_stopping": False,
        "random_state": 0,
    }


def _fitted(kind: Any, file: Path, constants: dict[str, Any], matrix: Matrix, target: Any) -> Any:
    if not file.exists():
        empty = np.isnan(matrix).all(axis=0)
        with threadpool_limits(1):
            joblib.dump(kind(**constants).fit(np.where(empty, 0.0, matrix), target), file)
    return joblib.load(file)


def _extended(fitted: Any, iterations: int, categorical: list[bool]) -> Any:
    """The same estimator with variants of its trees after them, up to so many iterations.

    Growing the 43,000 trees of `full` would take the better part of an hour. A variant has the
    shape of its tree; each threshold moves to one close by in its column, one code changes sides
    in each set, and every leaf is scaled, so that no two trees ask and answer the same.
    """
    draw = np.random.default_rng(0)
    grown = list(fitted._predictors)
    front = sum(categorical)  # scikit-learn has category columns first
    known = _thresholds([tree.nodes for trees in grown for tree in trees], front)
    models = [[_Shape(tree, known, front) for tree in trees] for trees in grown]
    for at in range(len(grown), iterations):
        fitted._predictors.append([shape.variant(draw) for shape in models[at % len(grown)]])
    return fitted


def _thresholds(nodes: list[Any], front: int) -> Any:
    """(column, threshold) of every split by number, each once, in order."""
    every = np.concatenate(nodes)
    every = every[(every["is_leaf"] == 0) & (every["feature_idx"] >= front)]
    return np.unique(np.rec.fromarrays([every["feature_idx"], every["num_threshold"]]))


class _Shape:
    """A tree, and where the thresholds of its splits by number stand among the known ones."""

    def __init__(self, tree: Any, known: Any, front: int) -> None:
        self._tree = tree
        self._known = known
        nodes = tree.nodes
        self._splits = np.flatnonzero((nodes["is_leaf"] == 0) & (nodes["feature_idx"] >= front))
        mine = nodes[self._splits]
        column, threshold = known["f0"], known["f1"]
        self._first = np.searchsorted(column, mine["feature_idx"], "left")
        self._last = np.searchsorted(column, mine["feature_idx"], "right") - 1
        self._at = np.searchsorted(
            known, np.rec.fromarrays([mine["feature_idx"], mine["num_threshold"]])
        )
        assert np.all(threshold[self._at] == mine["num_threshold"])

    def variant(self, draw: np.random.Generator) -> Any:
        """Another tree of this shape."""
        varied = copy.copy(self._tree)
        varied.nodes = nodes = self._tree.nodes.copy()
        varied.raw_left_cat_bitsets = sets = self._tree.raw_left_cat_bitsets.copy()
        moved = self._at + draw.integers(-1, 2, len(self._at))
        nodes["num_threshold"][self._splits] = self._known["f1"][
            np.clip(moved, self._first, self._last)
        ]
        sets[:, 0] ^= np.uint32(1) << draw.integers(0, 3, len(sets)).astype(np.uint32)
        nodes["value"] *= draw.uniform(0.5, 1.5, len(nodes))
        return varied
