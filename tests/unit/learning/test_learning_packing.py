"""Packing: what is no forest of trees is refused, and questions are kept once."""

from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.learning.packing import packed
from tests.unit.leap_model.builders import Split, forest, linked

TREE = Split(0, 1.0, Split(0, 2.0, 1.0, 2.0), 3.0)


@pytest.mark.parametrize(
    ("right", "said"),
    [([2, 3, 0, 0, 0], "two parents"), ([1, 3, 0, 0, 0], "two parents"), ([0, 3, 0, 0, 0], "two")],
    ids=str,
)
def test_nodes_that_are_no_tree_are_refused(right: list[int], said: str) -> None:
    trees = linked(TREE)
    assert trees.right.tolist() == [4, 3, 0, 0, 0]
    with pytest.raises(ValueError, match=said):
        packed(replace(trees, right=np.array(right)))


def test_a_node_below_no_root_is_refused() -> None:
    trees = linked(TREE, 5.0)
    with pytest.raises(ValueError, match="below no root"):
        packed(replace(trees, roots=trees.roots[:1], outputs=trees.outputs[:1]))


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="threshold is no number"):
        forest(Split(0, np.nan, 1.0, 2.0))


def test_a_question_is_kept_once_a_column_and_direction() -> None:
    one = forest(
        Split(0, 1.0, Split(1, 1.0, 1.0, 2.0), 3.0),
        Split(0, 1.0, Split(0, 1.0, 1.0, 2.0, missing_left=True), 3.0),
        Split(0, -0.0, 1.0, Split(0, 0.0, 1.0, 2.0)),
        n_inputs=2,
    )
    assert one.edges.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert one.run_column.tolist() == [0, 1, 2]


def test_sets_of_few_codes_take_few_bytes_and_alike_ones_none() -> None:
    low, high = frozenset({0, 3}), frozenset({250})
    few = forest(*[Split(0, low, 1.0, 2.0)] * 5, Split(1, high, 1.0, 2.0), n_inputs=2)
    assert few.category_codes.tolist() == [4, 251]
    assert few.counts.set_bytes == (2 + 1) + (2 + 32)
    others = frozenset(range(256)) - low
    assert forest(Split(0, others, 1.0, 2.0, missing_left=True)).category_codes.tolist() == [4]
