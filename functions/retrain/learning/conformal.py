"""Prediction intervals from errors of attempts that a network had not seen."""

import numpy as np

from leap_model.columns import Floats, Ints
from leap_model.intervals import COLD, OWN_ELSEWHERE, OWN_HERE, Band, Intervals

FEWEST = 100
"""Attempts of a group below which it has no band of its own."""
FEWEST_A_DECADE = 200
_TAIL = 0.1


def intervals_of(error: Floats, predicted: Floats, group: Ints) -> Intervals | None:
    """Bands of n held-back attempts, None where they are too few.

    Parameters
    ----------
    error : (n,)
        Log of measured ÷ predicted.
    predicted : (n,)
        Log of what was predicted.
    group : (n,) int
        Places in `intervals.GROUPS`.
    """
    if len(error) < FEWEST:
        return None
    decade = np.floor(predicted / np.log(10)).astype(np.int64)
    bands = {}
    for place in (OWN_HERE, OWN_ELSEWHERE, COLD):
        rows = group == place
        if rows.sum() >= FEWEST:
            bands[place] = _band(error[rows], decade[rows])
    if COLD not in bands:
        # Nothing says how far off a cold job is: as far as the worst known group, or all.
        known = [bands[place] for place in (OWN_ELSEWHERE, OWN_HERE) if place in bands]
        bands[COLD] = known[0] if known else _band(error, decade)
    return Intervals(bands)


def _band(error: Floats, decade: Ints) -> Band:
    low, high = _tails(error)
    decades = {}
    for power in np.unique(decade):
        rows = decade == power
        if rows.sum() >= FEWEST_A_DECADE:
            decades[int(power)] = _tails(error[rows])
    return Band(len(error), low, high, decades)


def _tails(error: Floats) -> tuple[float, float]:
    """The order statistics that hold one in ten of another attempt below and above."""
    ordered = np.sort(error)
    count = len(ordered)
    low = max(int(np.floor(_TAIL * (count + 1))) - 1, 0)
    high = min(int(np.ceil((1 - _TAIL) * (count + 1))) - 1, count - 1)
    return float(ordered[low]), float(ordered[high])
