"""From a request to a preference list: the function URL that launchers ask."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_events import IEventBus
from constructs import Construct

from infra import settings as limits
from infra.bundling import Bundle
from infra.function import leap_function
from infra.roles import allow, parameters
from infra.settings import Settings
from infra.store import Store


class Rank(Construct):
    """Ranks over HTTP. It reads models, and writes nothing but a sample of what it served."""

    def __init__(
        self, scope: Construct, name: str, settings: Settings, store: Store, bus: IEventBus
    ) -> None:
        super().__init__(scope, name)
        self.function = leap_function(
            self,
            settings,
            Bundle.RANK,
            [*reading(self, settings, store), allow("events:PutEvents", on=[bus.event_bus_arn])],
            description="Ranks hardware types for a job",
            memory_mb=limits.RANK_MEMORY_MB,
            timeout_s=limits.RANK_TIMEOUT_S,
            environment={
                "LEAP_STORE": store.uri,
                "LEAP_STAGE": settings.stage,
                "LEAP_CACHE_S": str(limits.RANK_CACHE_S),
                "LEAP_BUS": bus.event_bus_name,
                "LEAP_SAMPLE": str(limits.RANK_SAMPLE),
            },
        )
        # No CORS: a browser does not sign, and a page has no business asking.
        self.url = self.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
        # Lets this account's own policies decide who calls; another account's launchers would
        # need their account named here. Both of the permissions that a function URL asks for.
        self.url.grant_invoke_url(iam.AccountRootPrincipal())


def reading(scope: Construct, settings: Settings, store: Store) -> list[iam.PolicyStatement]:
    """What a ranker needs, in the function or in a launcher's own process."""
    documents = [f"pointers/{settings.stage}/{name}.json" for name in (*limits.TARGETS, "switches")]
    return [
        allow("s3:GetObject", on=store.objects("models/*", *documents)),
        allow("ssm:GetParameter", on=parameters(scope, *settings.pointers())),
    ]
