"""Linked trees as the text of a LightGBM model, which LightGBM and Treelite read.

The trees are the same, sets of categories and missing values included: each scores as it did. A set
in LightGBM sends right what it does not name, missing values too, so a set that sends those left
is written as its complement, children exchanged.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.linked import LinkedTrees
from leap_model.forest_file import Array

_CATEGORICAL, _MISSING_LEFT, _MISSING_IS_NAN = 1, 2, 8
_FARTHEST = 1e308
"""What LightGBM reads for infinity."""


def lightgbm_text(trees: LinkedTrees) -> str:
    """The model's text. The baseline is in the leaves of each output's first tree."""
    outputs = len(trees.baseline)
    objective = f"multiclass num_class:{outputs}" if outputs > 1 else "regression"
    head = [
        *("tree", "version=v4", f"num_class={outputs}", f"num_tree_per_iteration={outputs}"),
        *("label_index=0", f"max_feature_idx={trees.n_inputs - 1}", f"objective={objective}"),
        "feature_names=" + " ".join(f"c{column}" for column in range(trees.n_inputs)),
        "feature_infos=" + " ".join(["none"] * trees.n_inputs),
    ]
    return "\n".join([*head, "", *_trees(trees), "end of trees", ""])


def _trees(trees: LinkedTrees) -> Iterator[str]:
    ends = np.append(trees.roots[1:], len(trees.leaf))
    exchanged = trees.by_set & trees.missing_left
    left = np.where(exchanged, trees.right, trees.left)
    right = np.where(exchanged, trees.left, trees.right)
    kind = _MISSING_IS_NAN + np.where(
        trees.by_set, _CATEGORICAL, np.where(trees.missing_left, _MISSING_LEFT, 0)
    )
    value = trees.value.copy()
    for root, output, baseline in zip(
        trees.roots, trees.outputs[: len(trees.baseline)], trees.baseline, strict=False
    ):
        value[root : ends[output]] += np.where(trees.leaf[root : ends[output]], baseline, 0.0)
    for number, (first, end) in enumerate(zip(trees.roots, ends, strict=True)):
        yield f"Tree={number}"
        yield from _tree(trees, slice(int(first), int(end)), left, right, kind, value)


def _tree(
    trees: LinkedTrees, span: slice, left: Array, right: Array, kind: Array, value: Array
) -> Iterator[str]:
    leaf = trees.leaf[span]
    splits, leaves = np.flatnonzero(~leaf), np.flatnonzero(leaf)
    name = np.empty(len(leaf), np.int64)  # by which a parent knows a node
    name[splits], name[leaves] = np.arange(len(splits)), ~np.arange(len(leaves))
    by_set = trees.by_set[span][splits]
    sets = _words(trees, splits[by_set] + span.start)
    threshold = np.clip(value[span][splits], -_FARTHEST, _FARTHEST)
    threshold[by_set] = np.arange(len(sets))
    none = np.zeros(len(splits), np.int64)
    yield f"num_leaves={len(leaves)}"
    yield f"num_cat={len(sets)}"
    if len(splits):
        yield _line("split_feature", trees.column[span][splits])
        yield _line("split_gain", none)
        yield _line("threshold", threshold)
        yield _line("decision_type", kind[span][splits])
        yield _line("left_child", name[left[span][splits] - span.start])
        yield _line("right_child", name[right[span][splits] - span.start])
    yield _line("leaf_value", value[span][leaves])
    yield _line("leaf_weight", np.zeros(len(leaves), np.int64))
    yield _line("leaf_count", np.zeros(len(leaves), np.int64))
    for what in ("internal_value", "internal_weight", "internal_count") if len(splits) else ():
        yield _line(what, none)
    if len(sets):
        yield _line("cat_boundaries", np.append(0, np.cumsum([len(words) for words in sets])))
        yield _line("cat_threshold", np.concatenate(sets))
    yield from ("is_linear=0", "shrinkage=1", "", "")


def _words(trees: LinkedTrees, splits: Array) -> list[NDArray[np.uint32]]:
    """The bits of each set that does not hold missing values, in words of 32, as few as hold it."""
    content = trees.sets[trees.set_index[splits]]
    content = np.where(trees.missing_left[splits][:, np.newaxis], ~content, content)
    words = np.ascontiguousarray(content, np.uint8).view("<u4")
    used = words.shape[1] - np.argmax(words[:, ::-1] != 0, axis=1)
    used[~words.any(axis=1)] = 1
    return [row[:count] for row, count in zip(words, used.tolist(), strict=True)]


def _line(name: str, values: Array) -> str:
    return f"{name}=" + " ".join(map(repr, values.tolist()))
