"""From an event to the store: bus, rule, queue and the function that files attempts."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import settings as limits
from infra.bundling import Bundle
from infra.function import leap_function
from infra.roles import allow
from infra.settings import Settings
from infra.store import Store


class Ingest(Construct):
    """Takes in what launchers and the ranking function publish."""

    def __init__(self, scope: Construct, name: str, settings: Settings, store: Store) -> None:
        super().__init__(scope, name)
        self.bus = events.EventBus(self, "Bus", event_bus_name=settings.name())
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=settings.name("attempts-dlq"),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(limits.QUEUE_RETENTION_DAYS),
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=settings.name("attempts"),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(limits.QUEUE_RETENTION_DAYS),
            visibility_timeout=Duration.seconds(limits.VISIBILITY_S),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=limits.MOST_RECEIVES
            ),
        )
        # An event that cannot be delivered has the same shape as one that cannot be stored, and
        # is sent back in the same way: one queue for both.
        events.Rule(
            self,
            "Rule",
            event_bus=self.bus,
            description="Attempts and served rankings to the queue",
            event_pattern=events.EventPattern(
                source=[limits.SOURCE], detail_type=[limits.ATTEMPT, limits.RANKING]
            ),
            targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead_letters)],
        )
        self.function = self._function(settings, store)
        self.source = lambda_.EventSourceMapping(
            self,
            "Source",
            target=self.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=limits.INGEST_BATCH,
            max_batching_window=Duration.seconds(limits.INGEST_WINDOW_S),
            max_concurrency=limits.INGEST_CONCURRENCY,
            report_batch_item_failures=True,
        )

    def _function(self, settings: Settings, store: Store) -> lambda_.Function:
        statements = [
            allow(
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                on=[self.queue.queue_arn],
            ),
            # Nothing is read: an object is named by its content and written only where none is.
            allow("s3:PutObject", on=store.objects("attempts/*", "rejected/*", "rankings/*")),
        ]
        return leap_function(
            self,
            settings,
            Bundle.INGEST,
            statements,
            description="Files attempts and served rankings in the store",
            memory_mb=limits.INGEST_MEMORY_MB,
            timeout_s=limits.INGEST_TIMEOUT_S,
            environment={"LEAP_STORE": store.uri, "LEAP_STAGE": settings.stage},
        )
