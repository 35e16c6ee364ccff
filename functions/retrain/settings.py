"""Defaults of a nightly run, in one place."""

from dataclasses import dataclass, field

from functions.retrain.learning.estimator import Estimator
from functions.retrain.learning.kept import Scratch
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS
from functions.retrain.learning.workers import Processes
from leap_model import fields
from leap_model.errors import FieldError
from leap_model.limits import MIN_HARDWARE_ROWS
from leap_model.targets import TARGETS, Target

BUDGET_S = 3_600.0
"""Seconds in which challengers are tried."""
MOST_BUDGET_S = 86_400.0
WINDOW_DAYS = 30
HISTORY_DAYS = 365
MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides a run besides the data and its date.

    `window_days` days train; histories are of `history_days`, these days and some before. Fewer
    than `min_rows` usable attempts, or attempts on fewer than `min_days` days, train nothing: a
    model of a handful of rows would rank all the same.
    A model whose w20 is more than `gate_margin` below that of the live one is not pointed at.
    An evaluation day with fewer attempts than `least_complete` times the median of the days before
    it is taken for incomplete, and nothing is trained.
    `challengers` are tried beside `estimator` on the window's last `trial_days` days, while time is
    left of `budget_s` seconds (trial.py).
    `processes` (default: one a core; or those of a cluster) and `scratch`, where finished fits are
    kept for a run that is begun anew, decide only how long it takes.
    """

    target: Target = TARGETS["throughput"]
    estimator: Estimator = field(default_factory=lambda: ESTIMATORS[DEFAULT[0]])
    challengers: tuple[Estimator, ...] = ()
    trial_days: int = 5
    budget_s: float = BUDGET_S
    window_days: int = WINDOW_DAYS
    history_days: int = HISTORY_DAYS
    min_rows: int = 200
    min_days: int = 2
    min_hardware_rows: int = MIN_HARDWARE_ROWS
    gate_margin: float = 0.03
    least_complete: float = 0.0
    seed: int = 0
    processes: Processes = None
    scratch: Scratch | None = None


def days_of(text: str, field: str) -> int:
    """How many days a text says.

    Raises
    ------
    FieldError
        It is none.
    """
    try:
        return fields.integer(int(text), field, 1, MOST_DAYS)
    except ValueError:
        raise FieldError(field, text, f"an integer from 1 to {MOST_DAYS:,}") from None
