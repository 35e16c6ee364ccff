"""Whether intervals hold what they should: of attempts that were measured, how many lay inside."""

from collections.abc import Mapping, Sequence
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


def coverage_over(nights: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """What `coverage` tells, over the attempts of all nights; a width is the median of nights'.

    None where no night has any.
    """
    told = [night for night in nights if night is not None]
    if not told:
        return None

    def parts(name: str) -> dict[str, Any]:
        found: dict[str, list[Mapping[str, Any]]] = {}
        for night in told:
            for part, entry in night[name].items():
                found.setdefault(part, []).append(entry)
        return {part: _over(entries) for part, entries in found.items()}

    return {**_over(told), "by_group": parts("by_group"), "by_decade": parts("by_decade")}


def _over(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    attempts = sum(entry["attempts"] for entry in entries)
    within = sum((entry["within"] or 0.0) * entry["attempts"] for entry in entries)
    widths = [entry["width"] for entry in entries if entry["width"] is not None]
    return {
        "attempts": attempts,
        "within": within / attempts if attempts else None,
        "width": float(np.median(widths)) if widths else None,
    }


def _width(low: Floats, high: Floats) -> float | None:
    some = low > 0
    return float(np.median(high[some] / low[some])) if some.any() else None
