"""Defaults of a nightly run, in one place."""

from dataclasses import dataclass, field

from functions.retrain.estimators import ESTIMATORS, Estimator
from leap_model.limits import MIN_HARDWARE_ROWS

TARGETS = ("throughput",)


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides a run besides the data and its date.

    `window_days` days train. Fewer than `min_rows` usable attempts, or attempts on fewer than
    `min_days` days, train nothing: a model of a handful of rows would rank all the same.
    """

    target: str = "throughput"
    estimator: Estimator = field(default_factory=lambda: ESTIMATORS["single"])
    window_days: int = 30
    min_rows: int = 200
    min_days: int = 2
    min_hardware_rows: int = MIN_HARDWARE_ROWS
    seed: int = 0
