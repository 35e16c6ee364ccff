"""One stage of LEAP in one account and region. It only wires."""

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from infra.ingest import Ingest
from infra.launchers import Launchers
from infra.observability import Observability
from infra.rank import Rank
from infra.retrain import Retrain
from infra.settings import Settings
from infra.store import Store
from infra.views import Views


class LeapStack(Stack):
    """Everything that a stage consists of; nothing of another stage is known to it."""

    def __init__(self, scope: Construct, settings: Settings) -> None:
        super().__init__(
            scope,
            settings.name(),
            description=f"LEAP, stage {settings.stage}: ranks accelerator types for training jobs",
            termination_protection=settings.production,
            analytics_reporting=False,
        )
        self.settings = settings
        self.store = Store(self, "Store", settings)
        self.views = Views(self, "Views", settings, self.store)
        self.ingest = Ingest(self, "Ingest", settings, self.store)
        self.rank = Rank(self, "Rank", settings, self.store, self.ingest.bus)
        self.retrain = Retrain(self, "Retrain", settings, self.store)
        self.launchers = Launchers(
            self, "Launchers", settings, self.store, self.ingest.bus, self.rank
        )
        self.observability = Observability(
            self, "Observability", settings, self.ingest, self.retrain, self.rank
        )
        Tags.of(self).add("leap-stage", settings.stage)
        self._outputs()

    def _outputs(self) -> None:
        said = {
            "BusName": self.ingest.bus.event_bus_name,
            "BusArn": self.ingest.bus.event_bus_arn,
            "QueueUrl": self.ingest.queue.queue_url,
            "DeadLettersUrl": self.ingest.dead_letters.queue_url,
            "BucketName": self.store.bucket.bucket_name,
            "Database": self.views.database_name,
            "RankUrl": self.rank.url.url,
            "Schedule": self.retrain.schedule.ref,
            "AlarmTopic": self.observability.alarms.topic.topic_arn,
            "LauncherPolicy": self.launchers.sending.managed_policy_arn,
            "RankerPolicy": self.launchers.ranking.managed_policy_arn,
        }
        for name, value in said.items():
            CfnOutput(self, name, value=value)
