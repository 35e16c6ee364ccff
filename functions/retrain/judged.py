"""A model's predictions of attempts that were measured: what every figure of it is made of."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Ints
from leap_model.history import History
from leap_model.intervals import EXTRAPOLATED
from leap_model.references import Known, what_is_known


@dataclass(frozen=True, slots=True)
class Judged:
    """n attempts with a usable measurement, and what was predicted of them.

    `history` is what the model was shown of their families, `before` (n,) the moments that ended
    what it knew; `predicted` (n,) is in the target's own unit. `known` is what resembled the
    attempts, where the model recalls any.
    """

    attempts: Attempts
    history: History
    predicted: Floats
    before: Ints
    known: Known | None = None

    @property
    def cold(self) -> NDArray[np.bool_]:
        """(n,) whether the family had no history when the attempt was launched."""
        return np.asarray(self.history.runs == 0, np.bool_)

    def groups(self, trained_types: Collection[str]) -> Ints:
        """(n,) what was known of each attempt, a place in `intervals.GROUPS`, as a ranking has it:
        the types that are not `trained_types` are extrapolated to."""
        what = what_is_known(self.history.runs, self.known)
        hardware = self.attempts.jobs.hardware_type
        trained = np.array([name in trained_types for name in hardware.values], np.bool_)
        return np.where(trained[hardware.codes], what, EXTRAPOLATED)
