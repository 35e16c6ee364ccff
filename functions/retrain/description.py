"""What a run's report shows beyond its accuracy."""

import logging
from collections.abc import Callable
from typing import Any

from functions.retrain.dataset import Attempts
from functions.retrain.distributions import by_label, calibration, density
from functions.retrain.first_choices import first_choices
from functions.retrain.importance import importance
from functions.retrain.judged import Judged
from functions.retrain.settings import Settings
from functions.retrain.training import Trained
from leap_model.catalogue import Catalogue

_log = logging.getLogger(__name__)


def describe(
    trained: Trained, usable: Attempts, judged: Judged, catalogue: Catalogue, settings: Settings
) -> dict[str, Any]:
    """The keys of a run's metrics that its report draws, each null or empty where unknown.

    `usable` are the attempts that trained, whose target the distribution by hardware is of. The
    pointer has moved by now: what cannot be told is null, and logged, and no reason to fail a run.
    """
    attempts, predicted, seed = judged.attempts, judged.predicted, settings.seed
    return {
        name: _told(name, tell)
        for name, tell in {
            "predicted_against_measured": lambda: density(attempts.measured, predicted),
            "calibration": lambda: calibration(attempts.measured, predicted),
            "measured_by_hardware": lambda: by_label(usable.jobs.hardware_type, usable.measured),
            "importance": lambda: importance(trained, judged, catalogue, seed),
            "first_choices": lambda: first_choices(
                trained, judged, catalogue, settings.min_hardware_rows, seed
            ),
        }.items()
    }


def _told(name: str, tell: Callable[[], Any]) -> Any:
    try:
        return tell()
    except Exception as fault:
        # Its type only: its text may quote an attempt.
        _log.warning("the report lacks %s: %s", name, type(fault).__name__)
        return None
