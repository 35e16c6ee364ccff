"""What LEAP's Lambda functions have in common."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.bundling import Bundle, code_of
from infra.machine import Machine
from infra.roles import allow, service_role
from infra.settings import LOG_RETENTION, METRICS, Settings


def leap_function(
    scope: Construct,
    settings: Settings,
    bundle: Bundle,
    statements: Sequence[iam.PolicyStatement],
    *,
    description: str,
    memory_mb: int,
    timeout_s: int,
    environment: Mapping[str, str],
) -> lambda_.Function:
    """A function from a bundle, with a log group and a role of its own.

    Parameters
    ----------
    scope, settings : Construct, Settings
        Where it belongs, and to which stage.
    bundle : Bundle
        Its code; the handler is `functions/NAME/handler.py`.
    statements : sequence of PolicyStatement
        What it may do besides writing its own log.
    description, memory_mb, timeout_s, environment
        As Lambda has them.
    """
    log_group = log_group_of(scope, settings)
    log = allow("logs:CreateLogStream", "logs:PutLogEvents", on=[log_group.log_group_arn])
    return lambda_.Function(
        scope,
        "Function",
        function_name=settings.name(bundle.value),
        description=description,
        code=code_of(bundle, settings.machine),
        handler=f"functions.{bundle.value}.handler.handler",
        runtime=_runtime(settings.machine),
        architecture=_architecture(settings.machine),
        memory_size=memory_mb,
        timeout=Duration.seconds(timeout_s),
        role=service_role(scope, "Role", "lambda.amazonaws.com", [log, *statements]),
        log_group=log_group,
        environment={
            **environment,
            "POWERTOOLS_METRICS_NAMESPACE": METRICS,
            "POWERTOOLS_SERVICE_NAME": bundle.value,
        },
    )


def log_group_of(scope: Construct, settings: Settings) -> logs.LogGroup:
    """A log group that forgets in time. Its generated name lets a stage be deployed anew."""
    return logs.LogGroup(
        scope,
        "Log",
        retention=LOG_RETENTION,
        removal_policy=settings.removal,
    )


def _runtime(machine: Machine) -> lambda_.Runtime:
    return lambda_.Runtime(f"python{machine.python}", lambda_.RuntimeFamily.PYTHON)


def _architecture(machine: Machine) -> lambda_.Architecture:
    arm = machine.processor == "aarch64"
    return lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64
