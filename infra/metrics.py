"""The functions' own metrics, as they name them."""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cw

from infra.settings import METRICS


@dataclass(frozen=True, slots=True)
class Metrics:
    """Of one stage. Each metric has the dimensions `service` and `stage`, and no others."""

    stage: str

    def ingest(self, name: str, statistic: str, period: Duration) -> cw.Metric:
        """A metric of the function that files attempts."""
        return self._metric("ingest", name, statistic, period)

    def retrain(self, name: str, statistic: str, period: Duration) -> cw.Metric:
        """A metric of the nightly run."""
        return self._metric("retrain", name, statistic, period)

    def rank(self, name: str, statistic: str, period: Duration) -> cw.Metric:
        """A metric of the ranking function."""
        return self._metric("rank", name, statistic, period)

    def _metric(self, service: str, name: str, statistic: str, period: Duration) -> cw.Metric:
        return cw.Metric(
            namespace=METRICS,
            metric_name=name,
            dimensions_map={"service": service, "stage": self.stage},
            statistic=statistic,
            period=period,
        )
