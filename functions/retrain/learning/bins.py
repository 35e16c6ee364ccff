"""Bins: which expert learns which rows."""

import numpy as np

from leap_model.columns import Floats, Ints


def equal_frequency(values: Floats, bins: int) -> Ints:
    """(n,) the bin of each of n values, 0 the lowest, no bin empty.

    Edges are the values at equal shares of the rows. Equal values share a bin, so values that
    repeat across an edge leave fewer bins than asked for, of unequal size.
    """
    ordered = np.sort(values)
    last = np.arange(1, bins) * len(values) // bins - 1
    edges = np.unique(ordered[np.maximum(last, 0)])
    return np.unique(np.searchsorted(edges, values, side="left"), return_inverse=True)[1]


def nearest_expert(errors: Floats, current: Ints) -> Ints:
    """(n,) the expert with the least error in each row of (n, experts); of equals the current one.

    Errors are infinite where an expert was not asked.
    """
    best = np.argmin(errors, axis=1)
    rows = np.arange(len(current))
    better = errors[rows, best] < errors[rows, current]
    return np.where(better, best, current)
