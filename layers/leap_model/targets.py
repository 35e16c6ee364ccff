"""What can be predicted of a job, one model each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leap_model.columns import Floats
from leap_model.limits import LEAST_THROUGHPUT, LEAST_UTILIZATION


@dataclass(frozen=True, slots=True)
class Target:
    """A measured outcome, by the name that an attempt gives it.

    Models predict its natural log. `least` and `most` bound what counts as a measurement, and
    `most` what is predicted. `scale` names the feature that it grows with one to one.
    """

    name: str
    least: float
    most: float = np.inf
    scale: str | None = None

    def usable(self, values: Floats) -> Floats:
        """(n,) the measurements; NaN for missing, zero, negative and impossible ones."""
        known = (values >= self.least) & (values <= self.most) & (values < np.inf)
        return np.where(known, values, np.nan)

    def of_log(self, predicted: Floats) -> Floats:
        """(n,) predictions in the target's own unit."""
        with np.errstate(over="ignore"):  # infinity is told apart where it matters
            return np.minimum(np.exp(predicted), self.most)


TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("throughput", LEAST_THROUGHPUT, scale="ratio.log_peak"),
        Target("utilization", LEAST_UTILIZATION, most=1.0),
    )
}
"""Samples per second of the whole job, and the share of its accelerators' time that was used."""
