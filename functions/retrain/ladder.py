"""The published system's ladder: what each kind of feature, and more trees, are worth.

The same learning code throughout. Each rung sees the columns of the one before it and one source
more: the job as launched and its hardware (`plain-job`), its family's history (`plain-history`),
ratios of what it asks for to what the hardware gives (`plain-ratios`), the model's architecture
(`plain`), more and larger trees (`plain-deep`), and last the cascade of regressors (`cascade`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from functions.retrain.judged import Judged
from functions.retrain.learning.estimator import Estimator
from functions.retrain.learning.single import Single
from functions.retrain.nights import Night
from leap_model.columns import Floats


@dataclass(frozen=True, slots=True)
class Rung:
    """An estimator, and the sources of columns that it does without."""

    estimator: Estimator
    without: Collection[str] = ()


_PLAIN = Single(name="plain", scaled=False)

LADDER: Mapping[str, Rung] = {
    "plain-job": Rung(_PLAIN, ("history", "ratio", "architecture")),
    "plain-history": Rung(_PLAIN, ("ratio", "architecture")),
    "plain-ratios": Rung(_PLAIN, ("architecture",)),
    "plain-deep": Rung(
        Single(name="plain-deep", scaled=False, trees=1_500, leaves=255, learning_rate=0.03)
    ),
}
"""The rungs that are no estimators by themselves. The publication does not state its ladder's
constants; those of `plain-deep` are its experts' leaves and learning rate, and half their trees."""


def climbed(night: Night, rung: Rung) -> Floats:
    """(n,) what a rung, fitted on a night's training rows, says of its jobs."""
    return judged_on(night, rung).predicted


def judged_on(night: Night, rung: Rung) -> Judged:
    """The same with what was known of each job, and with intervals where the rung has any."""
    rows = night.rows_without(rung.without) if rung.without else night.rows
    return night.judged_by(rung.estimator, rows, rung.without)
