"""The traversal in numpy: what the kernel does, one level of all trees and rows at a time.

It serves where no kernel fits, and gives the same bits.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leap_model.columns import Floats
from leap_model.forest_file import Array

if TYPE_CHECKING:
    from leap_model.trees import Forest

_PAIRS_PER_BLOCK = 1 << 16
"""(tree, row) pairs walked together: enough to hide numpy's overhead, few enough for the cache."""
_CODES = 256


def score(forest: "Forest", matrix: Floats) -> Floats:
    """(n, outputs) the sum of each row's leaves, over the trees in order.

    `matrix` is (n, n_inputs) float64, row after row in memory.
    """
    rows = len(matrix)
    result = np.repeat(forest.baseline[np.newaxis, :], rows, axis=0)
    walk = _Walk(forest)
    trees_at_once = max(1, min(forest.n_trees, _PAIRS_PER_BLOCK // max(rows, 1)))
    rows_at_once = max(1, _PAIRS_PER_BLOCK // trees_at_once)
    for row in range(0, rows, rows_at_once):
        block = matrix[row : row + rows_at_once]
        for first in range(0, forest.n_trees, trees_at_once):
            trees = np.arange(first, min(first + trees_at_once, forest.n_trees))
            values = forest.leaves[walk.leaves(block, trees)]
            for output, of_tree in zip(forest.output[trees], values, strict=True):
                result[row : row + rows_at_once, output] += of_tree
    return result


class _Walk:
    def __init__(self, forest: "Forest") -> None:
        self._forest = forest
        self._edge_column = forest.edge_columns()
        self._edge_missing_left = forest.edges_missing_left()

    def leaves(self, block: Floats, trees: Array) -> NDArray[np.int64]:
        """(trees, rows) the leaf that each row of a block ends in."""
        forest = self._forest
        rows, inputs = block.shape
        first_leaf = forest.first_leaf.astype(np.int64)
        tree = np.repeat(trees, rows)
        leaf = first_leaf[tree]
        left = first_leaf[tree + 1] - leaf
        split = leaf - tree
        offset = np.tile(np.arange(rows) * inputs, len(trees))
        flat = block.ravel()
        walking = np.flatnonzero(left > 1)
        while len(walking):
            at = split[walking]
            of_left = forest.nodes["left_leaves"][at].astype(np.int64)
            goes_left = self._goes_left(tree[walking], at, flat, offset[walking])
            split[walking] += np.where(goes_left, 1, of_left)
            leaf[walking] += np.where(goes_left, 0, of_left)
            left[walking] = np.where(goes_left, of_left, left[walking] - of_left)
            walking = walking[left[walking] > 1]
        ends: NDArray[np.int64] = leaf.reshape(len(trees), rows)
        return ends

    def _goes_left(self, tree: Array, at: Array, flat: Floats, offset: Array) -> Array:
        forest = self._forest
        question = forest.nodes["question"][at].astype(np.int64)
        by_set = np.flatnonzero(question >= len(forest.edges))
        if len(by_set) == len(question):
            return self._in_set(tree, question, flat, offset)
        edge = question.copy()
        edge[by_set] = 0
        values = flat[offset + self._edge_column[edge]]
        left = np.where(
            np.isnan(values), self._edge_missing_left[edge], values <= forest.edges[edge]
        )
        if len(by_set):
            left[by_set] = self._in_set(tree[by_set], question[by_set], flat, offset[by_set])
        return left

    def _in_set(self, tree: Array, question: Array, flat: Floats, offset: Array) -> Array:
        forest = self._forest
        at = forest.set_at[forest.first_set[tree] + question - len(forest.edges)].astype(np.int64)
        category = forest.set_categories(at)
        codes = forest.category_codes[category].astype(np.int64)
        values = flat[offset + forest.category_column[category]]
        in_range = (values >= 0) & (values < _CODES)
        code = np.where(in_range, values, 0).astype(np.int64)
        code = np.where(in_range & (code == values) & (code < codes), code, codes)
        bits: Array = forest.sets[at + 2 + (code >> 3)] >> (code & 7).astype(np.uint8)
        return np.asarray(bits & 1 != 0)
