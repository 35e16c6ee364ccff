"""How measurements and predictions are spread: counts and quantiles, nothing per attempt."""

from typing import Any

import numpy as np

from leap_model.columns import Floats, Labels

PERCENTILES = (5, 25, 50, 75, 95)
DECILES = 10
_PER_DECADE = (10, 4, 2, 1)
_MOST_CELLS = 64
"""Of a side; where so many do not hold all that was measured, cells are wider."""


def density(measured: Floats, predicted: Floats) -> dict[str, Any]:
    """Attempts by what was measured and what was predicted, in cells of equal ratio.

    Parameters
    ----------
    measured, predicted : (n,)
        In one unit; what was measured is above zero.

    Returns
    -------
    dict
        `per_decade`, cells to a factor of ten; `cells`, a [measured, predicted, attempts] each,
        cell i from 10^(i ÷ per_decade) up to 10^((i + 1) ÷ per_decade); `outside`, attempts
        predicted more than a factor of ten beyond all that was measured, which no cell holds.
    """
    if not len(measured):
        return {"per_decade": _PER_DECADE[0], "cells": [], "outside": 0}
    low, high = measured.min() / 10, measured.max() * 10
    inside = (predicted >= low) & (predicted <= high)
    across = np.log10(measured)
    span = float(np.ptp(across)) + 2
    per_decade = next((n for n in _PER_DECADE if n * span <= _MOST_CELLS), _PER_DECADE[-1])
    pairs = np.stack([across[inside], np.log10(predicted[inside])], axis=1)
    # A nudge, since the logarithm of an exact power may fall short of it.
    places = np.floor(pairs * per_decade + 1e-9).astype(np.int64)
    cells, counts = np.unique(places, axis=0, return_counts=True)
    return {
        "per_decade": per_decade,
        "cells": np.column_stack([cells, counts]).tolist(),
        "outside": int(np.count_nonzero(~inside)),
    }


def calibration(measured: Floats, predicted: Floats) -> list[dict[str, Any]]:
    """Quantiles of predicted ÷ measured, apart for each tenth of the attempts by prediction.

    `from` and `to` are the least and the greatest prediction of a tenth. Predictions that are
    zero or infinite are left out.
    """
    known = np.flatnonzero(np.isfinite(predicted) & (predicted > 0))
    ordered = known[np.argsort(predicted[known], kind="stable")]
    return [
        {
            "from": float(predicted[rows[0]]),
            "to": float(predicted[rows[-1]]),
            "attempts": len(rows),
            **quantiles(predicted[rows] / measured[rows]),
        }
        for rows in np.array_split(ordered, DECILES)
        if len(rows)
    ]


def by_label(labels: Labels, values: Floats) -> dict[str, dict[str, Any]]:
    """Quantiles of (n,) values apart for each text, by text."""
    present = np.unique(labels.codes[labels.codes >= 0])
    parts = {labels.values[code]: values[labels.codes == code] for code in present}
    return {
        name: {"attempts": len(part), **quantiles(part)} for name, part in sorted(parts.items())
    }


def quantiles(values: Floats) -> dict[str, float | None]:
    """p5 to p95, each null where it is not finite."""
    found = np.percentile(values, PERCENTILES)
    return {
        f"p{percent}": float(value) if np.isfinite(value) else None
        for percent, value in zip(PERCENTILES, found, strict=True)
    }
