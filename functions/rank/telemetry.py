"""The function's logger and metrics: no job is named in either."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from leap_model.answer import INTERNAL_ERROR, SWITCHED_OFF
from leap_model.source import Serving
from leap_model.times import now_us, start_of

NAMESPACE = "LEAP"
SERVICE = "rank"
_HOUR_US = 3600 * 1_000_000

logger = Logger(service=SERVICE)


class Telemetry:
    """Counts rankings as metrics of a stage, one line of the log an invocation.

    A job that the switches leave out is `SwitchedOff` and nothing else: a stage that ranks a tenth
    of its families would otherwise look as if nine in ten rankings were empty.
    """

    def __init__(self, stage: str) -> None:
        # Metrics of the plain class are shared by all of a process, and so is their stage.
        self._metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
        self._metrics.set_default_dimensions(stage=stage)
        self._load_failures = 0

    def ranked(self, answer: Mapping[str, Any], serving: Serving | None) -> None:
        """Count an answer, and how old the model is that it was made with."""
        if answer["reason"] == SWITCHED_OFF:
            self._count("SwitchedOff")
        else:
            self._count("Rankings")
            self._count("EmptyPreferences", int(not answer["preference"]))
            self._count("RankingErrors", int(answer["reason"] == INTERNAL_ERROR))
        age = model_age_hours(serving)
        if age is not None and answer["model_version"] is not None:
            self._metrics.add_metric("ModelAgeHours", MetricUnit.NoUnit, age)
        for name in ("ranking_id", "reason", "model_version"):
            self._metrics.add_metadata(name, answer[name])

    def noticed(self, load_failures: int, records_dropped: int) -> None:
        """Count what else went wrong; `load_failures` is the sum so far."""
        if load_failures > self._load_failures:
            self._count("ModelLoadFailures", load_failures - self._load_failures)
            self._load_failures = load_failures
        if records_dropped:
            self._count("RecordsDropped", records_dropped)

    def flush(self) -> None:
        """Print what was counted."""
        if self._metrics.metric_set:
            self._metrics.flush_metrics()

    def _count(self, name: str, count: int = 1) -> None:
        self._metrics.add_metric(name, MetricUnit.Count, count)


def model_age_hours(serving: Serving | None) -> float | None:
    """Hours since the moment up to which the model knows attempts, if there is a model."""
    if serving is None:
        return None
    as_of = serving.throughput.artifact.training.get("as_of")
    try:
        return (now_us() - start_of(date.fromisoformat(str(as_of)))) / _HOUR_US
    except ValueError:
        return None
