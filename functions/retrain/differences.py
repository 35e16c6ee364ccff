"""How far two methods differ over nights, and how sure that is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

CONFIDENCE = 0.95


def paired(differences: Sequence[float]) -> dict[str, Any]:
    """Mean of differences by night, and Student's t interval of it at 95 %.

    The interval is null for fewer than two nights. It takes nights for independent; they share
    most of their training rows, so it says how much nights vary, not how much fleets do.
    """
    count = len(differences)
    mean = float(np.mean(differences)) if count else None
    if mean is None or count < 2:
        return {"nights": count, "mean": mean, "low": None, "high": None}
    # Here, since it costs more than all else that a launcher of this command imports.
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    quantile = float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2))
    half = quantile * float(np.std(differences, ddof=1)) / count**0.5
    return {"nights": count, "mean": mean, "low": mean - half, "high": mean + half}
