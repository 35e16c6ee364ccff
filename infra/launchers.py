"""What launchers may do, as two policies to attach to their roles."""

from aws_cdk import aws_iam as iam
from aws_cdk.aws_events import IEventBus
from constructs import Construct

from infra.rank import Rank, reading
from infra.roles import allow, parameters
from infra.settings import Settings
from infra.store import Store


class Launchers(Construct):
    """`sending` is to publish attempts and ask the function URL; `ranking` to rank in process."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        settings: Settings,
        store: Store,
        bus: IEventBus,
        rank: Rank,
    ) -> None:
        super().__init__(scope, name)
        function = [rank.function.function_arn]
        self.sending = iam.ManagedPolicy(
            self,
            "Sending",
            managed_policy_name=settings.name("launcher"),
            description="Publish attempts and ask for rankings",
            statements=[
                allow("events:PutEvents", on=[bus.event_bus_arn]),
                # A function URL asks for both; the second is of no use but through the URL.
                allow(
                    "lambda:InvokeFunctionUrl",
                    on=function,
                    where={"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}},
                ),
                allow(
                    "lambda:InvokeFunction",
                    on=function,
                    where={"Bool": {"lambda:InvokedViaFunctionUrl": "true"}},
                ),
            ],
        )
        self.ranking = iam.ManagedPolicy(
            self,
            "Ranking",
            managed_policy_name=settings.name("ranker"),
            description="Rank in the launcher's own process",
            statements=[
                *reading(self, settings, store),
                allow("ssm:GetParameter", on=parameters(self, settings.store_parameter)),
            ],
        )
