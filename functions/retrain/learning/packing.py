"""Packs linked trees into the forest that serves: every question once, every split in few bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.linked import LinkedTrees, ordered
from leap_model.forest_file import NARROW, WIDE, Array, Counts, encode
from leap_model.trees import Forest, open_forest


def packed(trees: LinkedTrees) -> Forest:
    """The forest of linked trees; it scores as they do, bit for bit.

    Raises
    ------
    ValueError
        They are no trees, or a threshold is no number.
    """
    order = ordered(trees)
    tree = np.repeat(np.arange(len(trees.roots)), np.diff(np.append(trees.roots, len(trees.leaf))))
    splits = np.flatnonzero(~trees.leaf)
    splits = splits[np.argsort(order.split[splits])]
    numbers, edges = _by_number(trees, splits[~trees.by_set[splits]])
    sets = _by_set(trees, splits[trees.by_set[splits]], tree)
    question = np.empty(len(splits), np.int64)
    question[~trees.by_set[splits]] = numbers
    question[trees.by_set[splits]] = len(edges.values) + sets.place
    left_leaves = order.leaves[trees.left[splits]]
    wide = bool(question.max(initial=0) > 0xFFFF or left_leaves.max(initial=0) > 0xFF)
    nodes = np.empty(len(splits), WIDE if wide else NARROW)
    nodes["question"], nodes["left_leaves"] = question, left_leaves
    leaves = np.flatnonzero(trees.leaf)
    counts = Counts(
        n_inputs=trees.n_inputs,
        n_outputs=len(trees.baseline),
        n_trees=len(trees.roots),
        n_edges=len(edges.values),
        n_runs=len(edges.columns),
        n_categories=len(sets.columns),
        set_bytes=len(sets.content),
        wide=int(wide),
        n_leaves=len(leaves),
        n_sets=len(sets.at),
    )
    parts = {
        "baseline": trees.baseline,
        "first_leaf": np.append(order.leaf[trees.roots], len(leaves)),
        "first_set": sets.first,
        "output": trees.outputs,
        "edges": edges.values,
        "first_edge": edges.first,
        "run_column": edges.columns,
        "category_column": sets.columns,
        "category_codes": sets.codes,
        "set_at": sets.at,
        "sets": sets.content,
        "nodes": nodes,
        "leaves": trees.value[leaves[np.argsort(order.leaf[leaves])]],
    }
    return open_forest(encode(counts, parts))


@dataclass(frozen=True, slots=True)
class _Edges:
    """`edges`, `first_edge` and `run_column` of a forest."""

    values: Array
    first: Array
    columns: Array


def _by_number(trees: LinkedTrees, splits: Array) -> tuple[Array, _Edges]:
    """The question of each of these splits, and the edges that they are about."""
    run = 2 * trees.column[splits].astype(np.int64) + trees.missing_left[splits]
    value = trees.value[splits] + 0.0  # of the two zeros, which compare alike, one
    if np.any(np.isnan(value)):
        raise ValueError("a threshold is no number")
    order = np.lexsort((value, run))
    is_new = np.ones(len(order), np.bool_)
    run, value = run[order], value[order]
    is_new[1:] = (run[1:] != run[:-1]) | (value[1:] != value[:-1])
    question = np.empty(len(order), np.int64)
    question[order] = np.cumsum(is_new) - 1
    runs = run[is_new]
    columns, first = np.unique(runs, return_index=True)
    return question, _Edges(value[is_new], np.append(first, len(runs)), columns)


@dataclass(frozen=True, slots=True)
class _Sets:
    """`category_column`, `category_codes`, `first_set`, `set_at` and `sets` of a forest; and of
    each split by category, the place in its tree."""

    columns: Array
    codes: Array
    first: Array
    at: Array
    content: NDArray[np.uint8]
    place: Array


def _by_set(trees: LinkedTrees, splits: Array, tree: Array) -> _Sets:
    columns, category = np.unique(trees.column[splits], return_inverse=True)
    codes = np.zeros(len(columns), np.int64)
    at = np.zeros(len(splits), np.int64)
    contents = [np.zeros(0, np.uint8)]
    size = 0
    for number in range(len(columns)):
        mine = np.flatnonzero(category == number)
        missing = trees.missing_left[splits[mine]]
        bits = np.unpackbits(trees.sets[trees.set_index[splits[mine]]], axis=1, bitorder="little")
        # Codes that every set sends where it sends missing ones need no bit.
        told = np.flatnonzero(np.any(bits != missing[:, np.newaxis], axis=0))
        codes[number] = told[-1] + 1 if len(told) else 0
        bits = np.column_stack((bits[:, : codes[number]], missing))
        rows, row_of = np.unique(
            np.packbits(bits, axis=1, bitorder="little"), axis=0, return_inverse=True
        )
        name = np.broadcast_to(np.array([number & 0xFF, number >> 8], np.uint8), (len(rows), 2))
        contents.append(np.column_stack((name, rows)).ravel())
        at[mine] = size + np.ravel(row_of) * (2 + rows.shape[1])
        size += len(contents[-1])
    a_tree = np.bincount(tree[splits], minlength=len(trees.roots))
    first = np.append(0, np.cumsum(a_tree))
    place = np.arange(len(splits)) - first[tree[splits]]
    return _Sets(columns, codes, first, at, np.concatenate(contents), place)
