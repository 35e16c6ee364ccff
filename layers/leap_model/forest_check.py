"""What must hold of a forest's arrays, so that no traversal can leave them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from leap_model.engine import Prepared
from leap_model.errors import ArtifactError
from leap_model.forest_file import Array

if TYPE_CHECKING:
    from leap_model.trees import Forest

_MOST_CODES = 256


def check_tables(forest: "Forest") -> None:
    """Check all but the splits.

    Raises
    ------
    ArtifactError
        Names the part and the rule that it breaks.
    """
    counts = forest.counts
    if not np.all(np.isfinite(forest.baseline)):
        raise ArtifactError("the forest's baseline is not finite")
    if not np.all(np.isfinite(forest.leaves)):
        raise ArtifactError("the forest's leaves must be finite")
    _check_firsts("first_leaf", forest.first_leaf, counts.n_leaves, least=1)
    _check_firsts("first_set", forest.first_set, counts.n_sets, least=0)
    _check_firsts("first_edge", forest.first_edge, counts.n_edges, least=1)
    _check_below("output", forest.output, counts.n_outputs)
    _check_below("run_column", forest.run_column, 2 * counts.n_inputs)
    _check_below("category_column", forest.category_column, counts.n_inputs)
    _check_below("category_codes", forest.category_codes, _MOST_CODES + 1)
    _check_edges(forest)
    _check_sets(forest)


def _check_firsts(name: str, firsts: Array, count: int, least: int) -> None:
    steps = np.diff(firsts.astype(np.int64))
    if firsts[0] != 0 or firsts[-1] != count or np.any(steps < least):
        raise ArtifactError(f"the forest's {name} must ascend from 0 to {count}")


def _check_below(name: str, values: Array, most: int) -> None:
    if len(values) and values.max() >= most:
        raise ArtifactError(f"the forest's {name} must lie below {most}")


def _check_edges(forest: "Forest") -> None:
    edges = forest.edges
    ascends = edges[1:] > edges[:-1]
    ascends[forest.first_edge[1:-1].astype(np.int64) - 1] = True  # from one run to the next
    if np.any(np.isnan(edges)) or not np.all(ascends):
        raise ArtifactError("the forest's edges must be numbers that ascend in each run")


def _check_sets(forest: "Forest") -> None:
    at = forest.set_at.astype(np.int64)
    size = forest.counts.set_bytes
    if not len(at):
        return
    if at.max() + 2 > size:
        raise ArtifactError("the forest's set_at must lie inside its sets")
    categories = forest.set_categories(at)
    _check_below("sets' categories", categories, forest.counts.n_categories)
    if np.any(at + 2 + (forest.category_codes[categories] >> 3) >= size):
        raise ArtifactError("the forest's sets must have a bit for each code")


def check_splits(forest: "Forest", prepared: Prepared | None) -> None:
    """Check the splits, by the kernel where there is one; the tables were.

    Raises
    ------
    ArtifactError
        A split parts its leaves into none and all, or asks a question that there is not.
    """
    sizes = np.diff(forest.first_leaf.astype(np.int64))
    if prepared is not None:
        sound = prepared.splits_are_sound(int(sizes.max(initial=0)))
    else:
        sound = _splits_are_sound(forest, sizes)
    if not sound:
        raise ArtifactError(
            "the forest's splits must part the leaves of their tree and ask a question of it"
        )


def _splits_are_sound(forest: "Forest", sizes: Array) -> bool:
    """The same in numpy, one level of all trees at a time."""
    trees: Any = np.arange(len(sizes))
    split = forest.first_leaf[:-1].astype(np.int64) - trees
    sets = np.diff(forest.first_set.astype(np.int64))
    while True:
        inner = sizes > 1
        trees, split, sizes = trees[inner], split[inner], sizes[inner]
        if not len(split):
            return True
        left = forest.nodes["left_leaves"][split].astype(np.int64)
        question = forest.nodes["question"][split].astype(np.int64)
        if np.any((left < 1) | (left >= sizes)):
            return False
        if np.any(question - len(forest.edges) >= sets[trees]):
            return False
        trees = np.concatenate((trees, trees))
        split = np.concatenate((split + 1, split + left))
        sizes = np.concatenate((left, sizes - left))
