"""How good predictions were: shares within a band, always on attempts after the window."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.ceiling import Noise
from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Labels

BANDS = (5, 10, 15, 20)
"""Percent of what was measured."""


def evaluate(
    attempts: Attempts,
    predicted: Floats,
    cold: NDArray[np.bool_],
    noise: Noise | None = None,
) -> dict[str, Any]:
    """The figures of contract section 6 for n attempts whose target was measured.

    Parameters
    ----------
    attempts : Attempts
        n measured attempts.
    predicted : (n,)
        The target in its own unit.
    cold : (n,) bool
        Whether the family had no history when the attempt was launched.
    noise : Noise, optional
        What repeats among earlier attempts say of the best w20 there can be.
    """
    ceiling = None if noise is None else noise.ceiling(attempts)
    relative = np.abs(predicted / attempts.measured - 1)
    within = relative <= 0.20
    return {
        "attempts": len(attempts),
        **figures(attempts.measured, predicted),
        "w20_by_gpu_hours": _weighted(within, attempts.accelerator_hours),
        "cold": _counted(within[cold]),
        "warm": _counted(within[~cold]),
        "by_hardware": _by(attempts.jobs.hardware_type, within),
        "by_model_type": _by(attempts.jobs.model_type, within),
        "by_decade": by_decade(attempts.measured, within),
        "by_model_rank": by_model_rank(attempts.jobs.model_type, within),
        "noise_ceiling_w20": None if ceiling is None else ceiling["w20"],
        "noise_ceiling_interval": None if ceiling is None else [ceiling["low"], ceiling["high"]],
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


def by_decade(measured: Floats, within: NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    """w20 by power of ten of what was measured: `1e3` holds 1,000 to just below 10,000."""
    # A nudge, since the logarithm of an exact power may fall short of it.
    decade = np.floor(np.log10(measured) + 1e-12).astype(np.int64)
    return {f"1e{power}": _counted(within[decade == power]) for power in np.unique(decade)}


def by_model_rank(models: Labels, within: NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    """w20 of the attempts of the 19 commonest model types, of the next 81, and of the rest.

    Commonest among these attempts; of equally common ones the first by name. The bounds are the
    publication's, of whose attempts they hold 37, 41 and 22 %.
    """
    counts = np.bincount(models.codes, minlength=len(models.values))
    order = sorted(range(len(counts)), key=lambda code: (-counts[code], models.values[code]))
    rank = np.empty(len(counts), np.int64)
    rank[order] = np.arange(len(counts))
    of_attempt = rank[models.codes]
    bounds = {"1-19": (0, 19), "20-100": (19, 100), "101-": (100, len(rank))}
    return {
        name: _counted(within[(of_attempt >= first) & (of_attempt < end)])
        for name, (first, end) in bounds.items()
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
    return {name: _counted(hits) for name, hits in sorted(rows.items())}


def _counted(hits: NDArray[np.bool_]) -> dict[str, Any]:
    return {"attempts": len(hits), "w20": share(hits)}
