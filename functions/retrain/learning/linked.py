"""Trees as nodes that name their children: what learning makes, before it is packed to serve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leap_model.forest_file import Array

CODES_PER_SET = 256


@dataclass(frozen=True, slots=True)
class LinkedTrees:
    """Nodes of all trees, one tree after the other.

    Attributes
    ----------
    n_inputs : int
        Columns of the matrix that the trees read.
    baseline : (outputs,) float64
        Where each sum starts.
    roots, outputs : (trees,) int
        First node of each tree, and the output that it adds to.
    leaf, missing_left, by_set : (nodes,) bool
        What a node is, where it sends missing values, and whether it splits by category.
    column, left, right : (nodes,) int
        A split's column and children.
    value : (nodes,) float64
        The score of a leaf, the threshold of a split by number.
    set_index : (nodes,) int
        A row of `sets`, for splits by category.
    sets : (sets, 32) uint8
        256 bits a set, little end first: the codes that go left.
    """

    n_inputs: int
    baseline: Array
    roots: Array
    outputs: Array
    leaf: Array
    missing_left: Array
    by_set: Array
    column: Array
    value: Array
    left: Array
    right: Array
    set_index: Array
    sets: Array


@dataclass(frozen=True, slots=True)
class Order:
    """Where nodes stand once they are packed, all of them (nodes,) int64.

    `leaves` is how many are below a node, itself included where it is one; `split` and `leaf` are
    the first split and the first leaf of what is below it.
    """

    leaves: NDArray[np.int64]
    split: NDArray[np.int64]
    leaf: NDArray[np.int64]


def ordered(trees: LinkedTrees) -> Order:
    """Splits in preorder and leaves from left to right, tree after tree.

    Raises
    ------
    ValueError
        A node is below no root, or has two parents.
    """
    levels = _levels(trees)
    leaves = trees.leaf.astype(np.int64)
    for splits in reversed(levels):
        leaves[splits] = leaves[trees.left[splits]] + leaves[trees.right[splits]]
    split, leaf = np.zeros_like(leaves), np.zeros_like(leaves)
    leaf[trees.roots] = np.cumsum(leaves[trees.roots]) - leaves[trees.roots]
    split[trees.roots] = leaf[trees.roots] - np.arange(len(trees.roots))
    for splits in levels:
        left, right = trees.left[splits], trees.right[splits]
        split[left], leaf[left] = split[splits] + 1, leaf[splits]
        split[right] = split[splits] + leaves[left]
        leaf[right] = leaf[splits] + leaves[left]
    return Order(leaves, split, leaf)


def _levels(trees: LinkedTrees) -> list[Array]:
    """The splits of each depth, the roots' first."""
    levels: list[Array] = []
    seen: Any = np.zeros(len(trees.leaf), np.int64)
    nodes: Array = trees.roots
    while len(nodes):
        np.add.at(seen, nodes, 1)
        if seen.max() > 1:
            raise ValueError("a node has two parents")
        splits = nodes[~trees.leaf[nodes]]
        levels.append(splits)
        nodes = np.concatenate((trees.left[splits], trees.right[splits]))
    if not seen.all():
        raise ValueError("a node is below no root")
    return levels
