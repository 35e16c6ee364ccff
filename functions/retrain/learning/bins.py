"""Bins: which expert learns which rows."""

import numpy as np

from leap_model.columns import Floats, Ints


def equal_frequency(values: Floats, bins: int, least: int = 1) -> Ints:
    """(n,) the bin of each of n values, 0 the lowest, none with fewer than `least` rows.

    Edges are the values at equal shares of the rows. Equal values share a bin, so values that
    repeat across an edge leave fewer bins than asked for, of unequal size.
    """
    ordered = np.sort(values)
    wanted = ordered[np.maximum(np.arange(1, bins) * len(values) // bins - 1, 0)]
    edges: list[float] = []
    below = 0
    for edge, upto in zip(wanted, np.searchsorted(ordered, wanted, side="right"), strict=True):
        if upto - below >= least and len(values) - upto >= least:
            edges.append(edge)
            below = upto
    return np.searchsorted(np.array(edges), values, side="left")


def nearest_expert(errors: Floats, current: Ints) -> Ints:
    """(n,) the expert with the least error in each row of (n, experts); of equals the current one.

    Errors are infinite where an expert was not asked.
    """
    best = np.argmin(errors, axis=1)
    rows = np.arange(len(current))
    better = errors[rows, best] < errors[rows, current]
    return np.where(better, best, current)
