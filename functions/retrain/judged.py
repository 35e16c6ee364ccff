"""A model's predictions of attempts that were measured: what every figure of it is made of."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.coverage import coverage
from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Ints
from leap_model.history import History
from leap_model.intervals import EXTRAPOLATED, Intervals
from leap_model.references import Known, what_is_known


@dataclass(frozen=True, slots=True)
class Judged:
    """n attempts with a usable measurement, and what was predicted of them.

    `history` is what the model was shown of their families, `before` (n,) the moments that ended
    what it knew; `predicted` (n,) is in the target's own unit. `ranked` are the types that the
    model was trained on enough. `known` is what resembled the attempts, where the model recalls
    any, and `intervals` those that it was published with, where there are any.
    """

    attempts: Attempts
    history: History
    predicted: Floats
    before: Ints
    ranked: Collection[str]
    known: Known | None = None
    intervals: Intervals | None = None

    @property
    def cold(self) -> NDArray[np.bool_]:
        """(n,) whether the family had no history when the attempt was launched."""
        return np.asarray(self.history.runs == 0, np.bool_)

    @property
    def groups(self) -> Ints:
        """(n,) what was known of each attempt, a place in `intervals.GROUPS`, as a ranking has it:
        the types that are not among `ranked` are extrapolated to."""
        what = what_is_known(self.history.runs, self.known)
        hardware = self.attempts.jobs.hardware_type
        ranked = np.array([name in self.ranked for name in hardware.values], np.bool_)
        return np.where(ranked[hardware.codes], what, EXTRAPOLATED)

    def coverage(self, measured: Floats) -> dict[str, Any] | None:
        """How many attempts lay within the intervals that a ranking would have told of them, the
        first m of n by (m,) what was measured of these; None where the model has none."""
        rows = slice(len(measured))
        return coverage(self.intervals, self.predicted[rows], self.groups[rows], measured)
