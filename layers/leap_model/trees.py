"""Forests, and how they score.

A tree of L leaves has L − 1 splits. Its splits stand in preorder and its leaves from left to right,
so a split needs to say no more than its question and how many of the leaves below it are to its
left: the left child's splits follow it, the right child's follow those, and no index can leave the
tree. The splits of tree t are those from `first_leaf[t] − t` on.

A question below `n_edges` is of a number: a row goes left when its value is at most that edge, and
a missing one goes where the edge's run says. Any other is of a category: the row goes left when the
set has its code. Codes are whole numbers from 0 to 255; what is none is missing, and a set has a
bit for that. Semantics are those of scikit-learn's histogram gradient boosting.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leap_model import engine, walk
from leap_model.columns import Floats, Matrix
from leap_model.forest_check import check_splits, check_tables
from leap_model.forest_file import Array, Counts, decode, encode


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees whose leaves add up to one score an output. `open_forest` makes one.

    Attributes
    ----------
    counts : Counts
        Lengths of what follows.
    baseline : (n_outputs,) float64
        Where each sum starts.
    first_leaf, first_set : (n_trees + 1,) uint32
        First leaf of each tree, and its first entry of `set_at`; then how many there are.
    output : (n_trees,) uint32
        The output that each tree adds to.
    edges : (n_edges,) float64
        Thresholds, each once a column and direction of missing values: a run, in which they ascend.
    first_edge : (n_runs + 1,) uint32
        First edge of each run; then how many there are.
    run_column : (n_runs,) uint32
        Twice the run's column, plus 1 where missing values go left.
    category_column, category_codes : (n_categories,) uint32
        Columns that sets are of, and the number of codes that have a bit; any other is missing.
    set_at : (n_sets,) uint32
        First byte in `sets` of each split by category: a tree's question `n_edges + i` is its ith.
    sets : (set_bytes,) uint8
        Two bytes of the category's number, then a bit a code, little end first, then missing's.
    nodes : (n_leaves − n_trees,) question, left_leaves
        The splits.
    leaves : (n_leaves,) float64
    """

    counts: Counts
    baseline: Array
    first_leaf: Array
    first_set: Array
    output: Array
    edges: Array
    first_edge: Array
    run_column: Array
    category_column: Array
    category_codes: Array
    set_at: Array
    sets: Array
    nodes: Array
    leaves: Array
    prepared: engine.Prepared | None = field(default=None, repr=False)

    @property
    def n_inputs(self) -> int:
        """Columns of the matrix that the trees read."""
        return self.counts.n_inputs

    @property
    def n_outputs(self) -> int:
        """Scores a row."""
        return self.counts.n_outputs

    @property
    def n_trees(self) -> int:
        return self.counts.n_trees

    def score(self, matrix: Matrix) -> Floats:
        """(n, n_outputs) the sum of each row's leaves.

        Each row's sum runs over the trees in order, whatever rows stand beside it, so that one
        candidate scores the same alone and among others, and on every machine.

        Raises
        ------
        ValueError
            `matrix` is not (n, n_inputs).
        """
        if matrix.ndim != 2 or matrix.shape[1] != self.n_inputs:
            raise ValueError(f"a forest of {self.n_inputs} columns was given {matrix.shape}")
        ordered = np.ascontiguousarray(matrix, np.float64)
        if self.prepared is not None:
            return self.prepared.score(ordered)
        return walk.score(self, ordered)

    def score_part(self, block: engine.Block, start: int, end: int) -> None:
        """Write the scores of some rows of a block.

        Raises
        ------
        ValueError
            The block has not the forest's inputs and outputs, or not those rows.
        """
        rows, scores, rows_at, scores_at = block
        counts = self.counts
        if rows.shape[1] != counts.n_inputs or scores.shape[1] != counts.n_outputs:
            raise ValueError(f"a block of {rows.shape} and {scores.shape} is not this forest's")
        if not 0 <= start <= end <= len(rows):
            raise ValueError(f"a block of {len(rows)} rows has none from {start} to {end}")
        if self.prepared is None:
            scores[start:end] = walk.score(self, rows[start:end])
            return
        rows_at += start * rows.strides[0]
        scores_at += start * scores.strides[0]
        self.prepared.score_at(rows_at, end - start, scores_at)

    def edge_columns(self) -> NDArray[np.int64]:
        """(n_edges,) the column that each edge is of."""
        edges: Array = np.diff(self.first_edge.astype(np.int64))
        return np.repeat(self.run_column.astype(np.int64) >> 1, edges)

    def edges_missing_left(self) -> NDArray[np.bool_]:
        """(n_edges,) whether a missing value goes left."""
        edges: Array = np.diff(self.first_edge.astype(np.int64))
        return np.repeat(self.run_column & 1 != 0, edges)

    def set_categories(self, at: Array) -> Array:
        """The number of the category that each set is of, given its first byte."""
        number: Array = self.sets[at].astype(np.int64) | self.sets[at + 1].astype(np.int64) << 8
        return number

    def split_columns(self) -> tuple[Array, NDArray[np.bool_]]:
        """(splits,) the column that each split reads, and whether it is by category."""
        leaves: Array = np.diff(self.first_leaf.astype(np.int64))
        tree = np.repeat(np.arange(self.n_trees), leaves - 1)
        question = self.nodes["question"].astype(np.int64)
        by_set = question >= len(self.edges)
        columns = np.empty(len(question), np.int64)
        columns[~by_set] = self.edge_columns()[question[~by_set]]
        sets = self.first_set[tree[by_set]] + question[by_set] - len(self.edges)
        categories = self.set_categories(self.set_at[sets].astype(np.int64))
        columns[by_set] = self.category_column[categories]
        return columns, by_set

    def parts(self) -> dict[str, Array]:
        """The arrays by name."""
        names = self.__slots__[1:-1]
        return {name: getattr(self, name) for name in names}

    def to_bytes(self) -> bytes:
        """What `open_forest` reads back, and an artifact stores."""
        return encode(self.counts, self.parts())

    def __reduce__(self) -> tuple[Any, ...]:
        return open_forest, (self.to_bytes(),)


def open_forest(content: Any) -> Forest:
    """A forest over the bytes of its file, which are not copied, once every index was checked.

    Raises
    ------
    ArtifactError
        Names what breaks a rule.
    """
    counts, parts = decode(content)
    unchecked = Forest(counts, **parts, prepared=None)
    check_tables(unchecked)
    # It keeps the bytes alive, and reads no split before it is asked to.
    prepared = engine.prepared(counts, parts)
    check_splits(unchecked, prepared)
    if prepared is not None:
        prepared.sort_splits(int(np.diff(unchecked.first_leaf).max(initial=0)))
    return Forest(counts, **parts, prepared=prepared)


def constant_forest(n_inputs: int, value: float) -> Forest:
    """A forest without trees: one output, the same for every row."""
    counts = Counts(n_inputs, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    return open_forest(encode(counts, {"baseline": np.array([value])}))
