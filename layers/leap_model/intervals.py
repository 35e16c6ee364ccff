"""How far off a prediction may be: what eight of ten attempts like it stayed within.

Split conformal prediction (Vovk et al., 2005; Lei et al., 2018) by group, as Mondrian predictors
are: errors of attempts that the network had not seen, by what was known of them and by the power of
ten of the prediction where that has enough attempts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from leap_model.columns import Floats, Ints

GROUPS: Final = (
    "family on this type",
    "family on other types",
    "cold",
    "unfamiliar",
    "extrapolated",
)
"""What is known of a job on a type, from most to least: its family ran there, or elsewhere; its
model type ran; nothing of the job did; too little ran on the type."""
OWN_HERE, OWN_ELSEWHERE, COLD, UNFAMILIAR, EXTRAPOLATED = range(len(GROUPS))
BEYOND: Final = 2.0
"""How many times as wide, in logarithms, as a cold job's an interval is where nothing measured it:
of unfamiliar jobs and types that too little ran on. A rule, not a measurement."""


@dataclass(frozen=True, slots=True)
class Band:
    """Logs of measured ÷ predicted that one in ten stayed below, and one in ten above; all of a
    group, and by power of ten of the prediction."""

    attempts: int
    low: float
    high: float
    decades: Mapping[int, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intervals:
    """A band a group that was measured, by its place in `GROUPS`; `COLD` is always among them."""

    bands: Mapping[int, Band]

    def around(self, predicted: Floats, group: Ints) -> tuple[Floats, Floats]:
        """(n,) low and high of n predictions in the target's own unit."""
        with np.errstate(divide="ignore"):
            decade = np.floor(np.log10(predicted))
        low, high = (
            np.array(list(map(self._of, group.tolist(), decade.tolist())), np.float64)
            .reshape(-1, 2)
            .T
        )
        return predicted * np.exp(low), predicted * np.exp(high)

    def _of(self, group: int, decade: float) -> tuple[float, float]:
        band = self.bands.get(group)
        wider = 1.0
        if band is None:
            band = self.bands[COLD]
            wider = BEYOND if group in (UNFAMILIAR, EXTRAPOLATED) else 1.0
        low, high = band.decades.get(
            int(decade) if math.isfinite(decade) else 0, (band.low, band.high)
        )
        return wider * low, wider * high

    def to_json(self) -> dict[str, Any]:
        """The form that `from_json` reads back, by name of the group."""
        return {
            GROUPS[group]: {
                "attempts": band.attempts,
                "low": band.low,
                "high": band.high,
                "decades": {str(decade): list(pair) for decade, pair in band.decades.items()},
            }
            for group, band in sorted(self.bands.items())
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Intervals":
        """Read intervals back.

        Raises
        ------
        KeyError, TypeError, ValueError
            They are malformed.
        """
        bands = {}
        for name, told in document.items():
            decades = {int(d): (float(a), float(b)) for d, (a, b) in told["decades"].items()}
            band = Band(int(told["attempts"]), float(told["low"]), float(told["high"]), decades)
            pairs = np.array([(band.low, band.high), *decades.values()])
            if not np.all(np.isfinite(pairs)) or np.any(pairs[:, 0] > pairs[:, 1]):
                raise ValueError(f"the interval of {name} has no width")
            bands[GROUPS.index(name)] = band
        if COLD not in bands:
            raise ValueError("there is no interval of cold jobs")
        return cls(bands)
