"""What a run's report shows beyond its accuracy."""

from typing import Any

from functions.retrain.dataset import Attempts
from functions.retrain.distributions import by_label, calibration, density
from functions.retrain.first_choices import first_choices
from functions.retrain.importance import importance
from functions.retrain.judged import Judged
from functions.retrain.settings import Settings
from functions.retrain.training import Trained
from leap_model.catalogue import Catalogue


def describe(
    trained: Trained, usable: Attempts, judged: Judged, catalogue: Catalogue, settings: Settings
) -> dict[str, Any]:
    """The keys of a run's metrics that its report draws, each null or empty where unknown.

    `usable` are the attempts that trained, whose target the distribution by hardware is of.
    """
    attempts, predicted, seed = judged.attempts, judged.predicted, settings.seed
    return {
        "predicted_against_measured": density(attempts.measured, predicted),
        "calibration": calibration(attempts.measured, predicted),
        "measured_by_hardware": by_label(usable.jobs.hardware_type, usable.measured),
        "importance": importance(trained, judged, catalogue, seed),
        "first_choices": first_choices(
            trained, judged, catalogue, settings.min_hardware_rows, seed
        ),
    }
