"""How good predictions were: shares within a band, always on attempts after the window."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Labels

BANDS = (5, 10, 15, 20)
"""Percent of what was measured."""


def evaluate(attempts: Attempts, predicted: Floats, cold: NDArray[np.bool_]) -> dict[str, Any]:
    """The figures of contract section 6 for n attempts whose target was measured.

    Parameters
    ----------
    attempts : Attempts
        n measured attempts.
    predicted : (n,)
        The target in its own unit.
    cold : (n,) bool
        Whether the family had no history when the attempt was launched.
    """
    relative = np.abs(predicted / attempts.measured - 1)
    within = relative <= 0.20
    return {
        "attempts": len(attempts),
        **figures(attempts.measured, predicted),
        "w20_by_gpu_hours": _weighted(within, attempts.accelerator_hours),
        "cold": {"attempts": int(cold.sum()), "w20": share(within[cold])},
        "warm": {"attempts": int((~cold).sum()), "w20": share(within[~cold])},
        "by_hardware": _by(attempts.jobs.hardware_type, within),
        "by_model_type": _by(attempts.jobs.model_type, within),
        "noise_ceiling_w20": None,
    }


def figures(measured: Floats, predicted: Floats) -> dict[str, float | None]:
    """w5 to w20 (shares within ±5 to ±20 % of measured), mdape (median of |predicted ÷ measured
    − 1|) and ratio (median of predicted ÷ measured) of (n,) values; null for none, or where it
    is infinite."""
    ratio = predicted / measured
    relative = np.abs(ratio - 1)
    some = len(measured) > 0
    return {
        **{f"w{band}": share(relative <= band / 100) for band in BANDS},
        "mdape": _finite(np.median(relative)) if some else None,
        "ratio": _finite(np.median(ratio)) if some else None,
    }


def share(hits: NDArray[np.bool_]) -> float | None:
    """The share of true ones, None of none."""
    return float(np.mean(hits)) if len(hits) else None


def _finite(figure: np.floating[Any]) -> float | None:
    return float(figure) if np.isfinite(figure) else None


def _weighted(within: NDArray[np.bool_], weights: Floats) -> float | None:
    known = weights > 0
    total = float(weights[known].sum())
    return float(weights[known & within].sum() / total) if total > 0 else None


def _by(labels: Labels, within: NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    present = np.unique(labels.codes)
    rows = {labels.values[code]: within[labels.codes == code] for code in present}
    return {
        name: {"attempts": len(hits), "w20": share(hits)} for name, hits in sorted(rows.items())
    }
