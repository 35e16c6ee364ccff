"""What a batch tells CloudWatch: figures, and names that are ours; nothing that a sender wrote."""

from typing import Any

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from functions.ingest.batch import Outcome


def emit(stage: str, outcome: Outcome) -> None:
    """Print a batch's figures as one line in the embedded metric format."""
    metrics = EphemeralMetrics(namespace="LEAP", service="ingest")
    metrics.add_dimension("stage", stage)
    counts = outcome.counts
    figures = {
        "AttemptsStored": counts.stored,
        "AttemptsRejected": counts.rejected,
        "AttemptsDuplicate": counts.duplicates,
        "RankingsStored": outcome.rankings,
    }
    for name, value in figures.items():
        metrics.add_metric(name, MetricUnit.Count, value)
    metrics.add_metric("IngestLagSeconds", MetricUnit.Seconds, outcome.lag_s)
    metrics.flush_metrics()


def summary(outcome: Outcome) -> dict[str, Any]:
    """A batch for the log. Rules name fields of the contract only, never their values."""
    counts = outcome.counts.to_json()
    return {
        "messages": outcome.messages,
        "attempts": {name: count for name, count in counts.items() if name != "read"},
        "rankings": outcome.rankings,
        "lag_s": round(outcome.lag_s, 3),
        "failed": len(outcome.failed()),
    }
