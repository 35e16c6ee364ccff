"""One page that shows a stage: what comes in, what the nights make of it, what is served."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cw
from constructs import Construct

from infra import settings as limits
from infra.ingest import Ingest
from infra.metrics import Metrics
from infra.rank import Rank
from infra.settings import Settings

_HOUR = Duration.hours(1)
_DAY = Duration.days(1)
_THIRD = 8
"""Of the page's 24 columns."""


def add_dashboard(
    scope: Construct,
    settings: Settings,
    ingest: Ingest,
    rank: Rank,
    alarms: Sequence[cw.IAlarm],
) -> cw.Dashboard:
    """The dashboard of a stage, one row a capability under a row of its alarms."""
    metrics = Metrics(settings.stage)
    page = cw.Dashboard(
        scope, "Dashboard", dashboard_name=settings.name(), default_interval=Duration.days(7)
    )
    page.add_widgets(cw.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=24, height=3))
    page.add_widgets(
        _graph(
            "Attempts an hour",
            *(
                metrics.ingest(name, "Sum", _HOUR)
                for name in ("AttemptsStored", "AttemptsRejected", "AttemptsDuplicate")
            ),
        ),
        _graph("Seconds from event to store", metrics.ingest("IngestLagSeconds", "Maximum", _HOUR)),
        _graph(
            "Messages waiting and given up",
            ingest.queue.metric_approximate_number_of_messages_visible(period=_HOUR),
            ingest.dead_letters.metric_approximate_number_of_messages_visible(period=_HOUR),
        ),
    )
    page.add_widgets(
        _graph("w20 of the nights", metrics.retrain("W20", "Minimum", _DAY), most=1),
        _graph(
            "Models published and pointed at",
            metrics.retrain("RunsPublished", "Sum", _DAY),
            metrics.retrain("RunsPointed", "Sum", _DAY),
        ),
        _graph("Hours since what the model knows", metrics.rank("ModelAgeHours", "Maximum", _HOUR)),
    )
    page.add_widgets(
        _graph(
            "Rankings an hour",
            *(
                metrics.rank(name, "Sum", _HOUR)
                for name in ("Rankings", "SwitchedOff", "RankingErrors", "ModelLoadFailures")
            ),
        ),
        _graph("Share of empty lists", metrics.rank("EmptyPreferences", "Average", _HOUR), most=1),
        _graph(
            f"Milliseconds of a ranking (alarm at {limits.MOST_P99_MS})",
            rank.function.metric_duration(statistic="p50", period=_HOUR),
            rank.function.metric_duration(statistic="p99", period=_HOUR),
        ),
    )
    return page


def _graph(title: str, *shown: cw.Metric, most: float | None = None) -> cw.GraphWidget:
    axis = cw.YAxisProps(min=0, max=most, show_units=False)
    return cw.GraphWidget(title=title, left=list(shown), left_y_axis=axis, width=_THIRD, height=6)
