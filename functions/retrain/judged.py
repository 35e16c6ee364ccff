"""A model's predictions of attempts that were measured: what every figure of it is made of."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Ints
from leap_model.history import History


@dataclass(frozen=True, slots=True)
class Judged:
    """n attempts with a usable measurement, and what was predicted of them.

    `history` is what the model was shown of their families, `before` (n,) the moments that ended
    what it knew; `predicted` (n,) is in the target's own unit.
    """

    attempts: Attempts
    history: History
    predicted: Floats
    before: Ints

    @property
    def cold(self) -> NDArray[np.bool_]:
        """(n,) whether the family had no history when the attempt was launched."""
        return np.asarray(self.history.runs == 0, np.bool_)
