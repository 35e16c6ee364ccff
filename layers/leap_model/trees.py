"""Forests as flat arrays, and the traversal that serves them.

A node is either a leaf or a split. A split sends a row left when its value is at most the
threshold (numbers) or its code is in the node's set (categories). A missing value, or one that is
no category code, goes where the node says. Semantics are those of scikit-learn's histogram
gradient boosting; a set already holds the codes that training never saw where missing goes left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.columns import Floats
from leap_model.errors import ArtifactError

LEAF, MISSING_LEFT, CATEGORICAL = 1, 2, 4
"""Bits of `flags`."""

CODES_PER_SET = 256
_PAIRS_PER_BLOCK = 1 << 16
"""(tree, row) pairs walked together: enough to hide numpy's overhead, few enough for the cache."""

DTYPES: Mapping[str, Any] = {
    "roots": np.dtype("<i4"),
    "outputs": np.dtype("<i4"),
    "baseline": np.dtype("<f8"),
    "flags": np.dtype("u1"),
    "feature": np.dtype("<i4"),
    "value": np.dtype("<f8"),
    "left": np.dtype("<i4"),
    "right": np.dtype("<i4"),
    "set_index": np.dtype("<i4"),
    "sets": np.dtype("u1"),
}

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees whose leaves add up to one score an output.

    Attributes
    ----------
    n_inputs : int
        Columns of the matrix that the trees read.
    roots : (trees,) int32
        First node of each tree, ascending; a tree's nodes are contiguous, children after parents.
    outputs : (trees,) int32
        The output that each tree adds to.
    baseline : (outputs,) float64
        Where each sum starts.
    flags, feature, value, left, right, set_index : (nodes,)
        `value` is the threshold of a split, the score of a leaf. `set_index` is a row of `sets`
        for categorical splits, else −1.
    sets : (sets, 32) uint8
        256 bits a set, little end first: the codes that go left.
    """

    n_inputs: int
    roots: Array
    outputs: Array
    baseline: Array
    flags: Array
    feature: Array
    value: Array
    left: Array
    right: Array
    set_index: Array
    sets: Array

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, as an artifact stores them."""
        return {name: getattr(self, name) for name in DTYPES}

    def score(self, matrix: Floats) -> Floats:
        """(n, outputs) the sum of each row's leaves.

        Each row's sum runs over the trees in order, whatever rows stand beside it, so that one
        candidate scores the same alone and among others.
        """
        rows = len(matrix)
        outputs = len(self.baseline)
        result = np.repeat(self.baseline[np.newaxis, :], rows, axis=0)
        trees_at_once = max(1, min(len(self.roots), _PAIRS_PER_BLOCK // max(rows, 1)))
        rows_at_once = max(1, _PAIRS_PER_BLOCK // trees_at_once)
        for row in range(0, rows, rows_at_once):
            block = np.ascontiguousarray(matrix[row : row + rows_at_once], np.float64)
            for tree in range(0, len(self.roots), trees_at_once):
                trees = slice(tree, tree + trees_at_once)
                leaves = self._leaves(block, self.roots[trees])
                for output, values in zip(self.outputs[trees], self.value[leaves], strict=True):
                    result[row : row + rows_at_once, output] += values
        return result.reshape(rows, outputs)

    def _leaves(self, matrix: Floats, roots: Array) -> NDArray[np.int32]:
        """(trees, rows) the leaf that each row ends in."""
        rows, inputs = matrix.shape
        nodes = np.repeat(roots, rows)
        offsets = np.tile(np.arange(rows, dtype=np.int64) * inputs, len(roots))
        flat = matrix.ravel()
        walking = np.flatnonzero(self.flags[nodes] & LEAF == 0)
        while len(walking):
            at = nodes[walking]
            values = flat[offsets[walking] + self.feature[at]]
            nodes[walking] = np.where(self._goes_left(at, values), self.left[at], self.right[at])
            walking = walking[self.flags[nodes[walking]] & LEAF == 0]
        return nodes.reshape(len(roots), rows)

    def _goes_left(self, at: Array, values: Floats) -> NDArray[np.bool_]:
        flags = self.flags[at]
        left = values <= self.value[at]
        missing = np.isnan(values)
        categorical = np.flatnonzero(flags & CATEGORICAL)
        if len(categorical):
            codes, is_code = _codes(values[categorical])
            sets = self.set_index[at[categorical]]
            left[categorical] = self.sets[sets, codes >> 3] >> (codes & 7) & 1
            missing[categorical] = ~is_code
        return np.where(missing, flags & MISSING_LEFT != 0, left)


def constant_forest(n_inputs: int, value: float) -> Forest:
    """A forest without trees: one output, the same for every row."""
    arrays = {name: np.zeros(0, dtype) for name, dtype in DTYPES.items()}
    arrays["baseline"] = np.array([value], DTYPES["baseline"])
    arrays["sets"] = np.zeros((0, CODES_PER_SET // 8), DTYPES["sets"])
    return checked_forest(n_inputs, arrays)


def _codes(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Category codes, and whether each value is one: a whole number from 0 to 255."""
    in_range = (values >= 0) & (values < CODES_PER_SET)
    codes = np.where(in_range, values, 0).astype(np.intp)
    return codes, in_range & (codes == values)


def checked_forest(n_inputs: int, arrays: Mapping[str, Array]) -> Forest:
    """A forest whose every index was checked, so that traversal ends and stays inside.

    Raises
    ------
    ArtifactError
        Names the array and the rule that it breaks.
    """
    for name, dtype in DTYPES.items():
        if name not in arrays:
            raise ArtifactError(f"the forest lacks its array {name}")
        if arrays[name].dtype != dtype or arrays[name].ndim != (2 if name == "sets" else 1):
            raise ArtifactError(f"the forest's array {name} has the wrong type or shape")
    forest = Forest(n_inputs, **{name: arrays[name] for name in DTYPES})
    _check_shapes(forest)
    _check_splits(forest)
    if not np.all(np.isfinite(forest.baseline)):
        raise ArtifactError("the forest's baseline is not finite")
    return forest


def _check_shapes(forest: Forest) -> None:
    nodes, trees = len(forest.value), len(forest.roots)
    per_node = (forest.flags, forest.feature, forest.left, forest.right, forest.set_index)
    if any(len(array) != nodes for array in per_node) or len(forest.outputs) != trees:
        raise ArtifactError("the forest's arrays differ in length")
    if forest.sets.shape[1] != CODES_PER_SET // 8:
        raise ArtifactError(f"the forest's sets must have {CODES_PER_SET} bits")
    if trees and (forest.roots[0] != 0 or np.any(np.diff(forest.roots) <= 0)):
        raise ArtifactError("the forest's roots must ascend from 0")
    if (nodes and not trees) or (trees and forest.roots[-1] >= nodes):
        raise ArtifactError("the forest's roots must lie inside its nodes")
    if trees and not 0 <= forest.outputs.min() <= forest.outputs.max() < len(forest.baseline):
        raise ArtifactError("the forest's trees must add to outputs that it has")


def _check_splits(forest: Forest) -> None:
    if not len(forest.roots):
        return
    at = np.flatnonzero(forest.flags & LEAF == 0)
    ends = np.append(forest.roots[1:], len(forest.value))
    end = ends[np.searchsorted(forest.roots, at, side="right") - 1]
    for name, child in (("left", forest.left[at]), ("right", forest.right[at])):
        if np.any((child <= at) | (child >= end)):
            raise ArtifactError(f"the forest's {name} children must follow inside their own tree")
    feature = forest.feature[at]
    if np.any((feature < 0) | (feature >= forest.n_inputs)):
        raise ArtifactError(f"the forest's features must be columns 0 to {forest.n_inputs - 1}")
    categorical = forest.set_index[at[forest.flags[at] & CATEGORICAL != 0]]
    if np.any((categorical < 0) | (categorical >= len(forest.sets))):
        raise ArtifactError("the forest's categorical splits must name a set that it has")
    if not np.all(np.isfinite(forest.value[forest.flags & LEAF != 0])):
        raise ArtifactError("the forest's leaves must be finite")
