"""What a run tells CloudWatch."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit, single_metric


def emit(stage: str, metrics: Mapping[str, Any]) -> None:
    """Print a run's figures as lines in the embedded metric format, the unknown ones left out."""
    evaluation = metrics["evaluation"] or {}
    figures = {
        "W20": (MetricUnit.NoUnit, evaluation.get("w20")),
        "RunsPublished": (MetricUnit.Count, int(metrics["published"])),
        "RunsPointed": (MetricUnit.Count, int(metrics["pointed"])),
    }
    for name, (unit, value) in figures.items():
        if value is None:
            continue
        with single_metric(name=name, unit=unit, value=value, namespace="LEAP") as metric:
            metric.add_dimension("service", "retrain")
            metric.add_dimension("stage", stage)
            metric.add_metadata("target", metrics["target"])
            metric.add_metadata("version", metrics["version"])
