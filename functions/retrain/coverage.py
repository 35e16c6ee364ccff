"""Whether intervals hold what they should: of attempts that were measured, how many lay inside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.evaluation import share
from leap_model.columns import Floats, Ints
from leap_model.intervals import GROUPS, Intervals


def coverage(
    intervals: Intervals | None, predicted: Floats, group: Ints, measured: Floats
) -> dict[str, Any] | None:
    """How many of n measured attempts lay within their intervals, which eight of ten should.

    Parameters
    ----------
    intervals : Intervals or None
        Those of the model; without them nothing is told.
    predicted, measured : (n,)
        The target in its own unit.
    group : (n,) int
        What was known of each attempt, a place in `intervals.GROUPS`.

    Returns
    -------
    dict or None
        Of all, `by_group` and `by_decade` of what was predicted: attempts, the share `within`, and
        `width`, the median of high ÷ low.
    """
    if intervals is None:
        return None
    low, high = intervals.around(predicted, group)
    within = (low <= measured) & (measured <= high)
    decade = np.floor(np.log10(np.maximum(predicted, np.finfo(np.float64).tiny))).astype(np.int64)

    def told(rows: NDArray[np.bool_]) -> dict[str, Any]:
        return {
            "attempts": int(rows.sum()),
            "within": share(within[rows]),
            "width": _width(low[rows], high[rows]),
        }

    return {
        **told(np.ones(len(measured), bool)),
        "by_group": {GROUPS[at]: told(group == at) for at in np.unique(group)},
        "by_decade": {f"1e{power}": told(decade == power) for power in np.unique(decade)},
    }


def _width(low: Floats, high: Floats) -> float | None:
    some = low > 0
    return float(np.median(high[some] / low[some])) if some.any() else None
