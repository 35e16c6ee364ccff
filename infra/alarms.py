"""The alarms of a stage, and the topic that they are told to."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import settings as limits
from infra.ingest import Ingest
from infra.metrics import Metrics
from infra.rank import Rank
from infra.retrain import Retrain
from infra.settings import Settings

_ABOVE = cw.ComparisonOperator.GREATER_THAN_THRESHOLD
_BELOW = cw.ComparisonOperator.LESS_THAN_THRESHOLD
_SILENCE_IS_BAD = cw.TreatMissingData.BREACHING
_SILENCE_IS_GOOD = cw.TreatMissingData.NOT_BREACHING
_SILENCE_IS_NOTHING = cw.TreatMissingData.IGNORE
"""The alarm stays as it was."""


class Alarms(Construct):
    """Each says in its description what to look at first."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        settings: Settings,
        ingest: Ingest,
        retrain: Retrain,
        rank: Rank,
    ) -> None:
        super().__init__(scope, name)
        self._settings = settings
        self._metrics = Metrics(settings.stage)
        self.topic = self._topic()
        self.alarms: list[cw.Alarm] = []
        self._intake(ingest)
        self._nights(retrain)
        self._rankings(rank)

    def _intake(self, ingest: Ingest) -> None:
        self._queue("attempts-dlq", ingest.dead_letters)
        self._add(
            "nothing-ingested",
            "No attempt was stored for a day: do launchers still publish?",
            self._metrics.ingest("AttemptsStored", "Sum", Duration.days(1)),
            _BELOW,
            1,
            silence=_SILENCE_IS_BAD,
        )

    def _nights(self, retrain: Retrain) -> None:
        self._queue("nightly-dlq", retrain.dead_letters)
        self._add(
            "no-new-model",
            f"No night pointed at a new model for {limits.MOST_MODEL_AGE_H} hours: see the log of "
            "the nightly task, or the gate's reason in reports/",
            self._metrics.retrain("RunsPointed", "Sum", Duration.hours(12)),
            _BELOW,
            1,
            periods=limits.MOST_MODEL_AGE_H // 12,
            silence=_SILENCE_IS_BAD,
        )
        self._add(
            "w20-low",
            f"A night's model was right for less than {limits.LEAST_W20:.0%} of its attempts",
            self._metrics.retrain("W20", "Minimum", Duration.hours(1)),
            _BELOW,
            limits.LEAST_W20,
            silence=_SILENCE_IS_NOTHING,
        )

    def _rankings(self, rank: Rank) -> None:
        self._add(
            "model-old",
            f"Rankings are made with a model of more than {limits.MOST_MODEL_AGE_H} hours",
            self._metrics.rank("ModelAgeHours", "Maximum", Duration.hours(1)),
            _ABOVE,
            limits.MOST_MODEL_AGE_H,
            silence=_SILENCE_IS_NOTHING,
        )
        self._add(
            "empty-lists",
            f"More than {limits.MOST_EMPTY:.0%} of the rankings have an empty list: see reasons",
            # 0 or 1 a ranking, so that the average is the share.
            self._metrics.rank("EmptyPreferences", "Average", Duration.minutes(15)),
            _ABOVE,
            limits.MOST_EMPTY,
            periods=2,
        )
        self._add(
            "rank-faults",
            "Rankings end in internal_error",
            self._metrics.rank("RankingErrors", "Sum", Duration.minutes(5)),
            _ABOVE,
            0,
        )
        self._add(
            "rank-errors",
            "The rank function fails or runs out of time or memory",
            rank.function.metric_errors(period=Duration.minutes(5)),
            _ABOVE,
            0,
        )
        self._add(
            "rank-slow",
            f"One ranking in a hundred takes more than {limits.MOST_P99_MS} ms",
            rank.function.metric_duration(statistic="p99", period=Duration.minutes(15)),
            _ABOVE,
            limits.MOST_P99_MS,
            periods=3,
        )

    def _queue(self, name: str, queue: sqs.Queue) -> None:
        self._add(
            f"{name}-not-empty",
            "Something could not be delivered or handled; send it back when the cause is gone",
            queue.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=Duration.minutes(5)
            ),
            _ABOVE,
            0,
        )

    def _add(
        self,
        name: str,
        description: str,
        metric: cw.Metric,
        comparison: cw.ComparisonOperator,
        threshold: float,
        *,
        periods: int = 1,
        silence: cw.TreatMissingData = _SILENCE_IS_GOOD,
    ) -> None:
        alarm = cw.Alarm(
            self,
            "".join(part.title() for part in name.split("-")),
            alarm_name=self._settings.name(name),
            alarm_description=description,
            metric=metric,
            comparison_operator=comparison,
            threshold=threshold,
            evaluation_periods=periods,
            treat_missing_data=silence,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        self.alarms.append(alarm)

    def _topic(self) -> sns.Topic:
        topic = sns.Topic(self, "Topic", topic_name=self._settings.name("alarms"), enforce_ssl=True)
        # Refusing plain text takes a policy, and with one CloudWatch has to be let in by name.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        if self._settings.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(self._settings.alarm_email))
        return topic
