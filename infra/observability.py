"""What tells people how a stage does: alarms, and a dashboard."""

from constructs import Construct

from infra.alarms import Alarms
from infra.dashboard import add_dashboard
from infra.ingest import Ingest
from infra.rank import Rank
from infra.retrain import Retrain
from infra.settings import Settings


class Observability(Construct):
    """Alarms go to one topic; the dashboard shows them and what they are made of."""

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
        self.alarms = Alarms(self, "Alarms", settings, ingest, retrain, rank)
        self.dashboard = add_dashboard(self, settings, ingest, rank, self.alarms.alarms)
