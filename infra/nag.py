"""Rules of cdk-nag that a construct breaks on purpose, each with its reason."""

from collections.abc import Iterator
from typing import TypeAlias

from aws_cdk import Acknowledgment, App, Validations
from cdk_nag import AwsSolutionsChecks, NagPack, ServerlessChecks
from constructs import IConstruct

from infra.settings import TRAINED_TARGETS
from infra.stack import LeapStack

Accepted: TypeAlias = tuple[IConstruct, str, str]
"""A construct, the rule that it breaks, and why."""


def packs(app: App) -> list[NagPack]:
    """The packs of rules that every stage is held to."""
    return [AwsSolutionsChecks(app), ServerlessChecks(app)]


def check(app: App, stack: LeapStack) -> None:
    """Have every synthesis of the app fail on a finding that is not accepted below."""
    acknowledge(stack)
    Validations.of(app).add_plugins(*packs(app))


def acknowledge(stack: LeapStack) -> None:
    """Accept each finding on the one construct that has it."""
    for construct, rule, reason in accepted(stack):
        Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))


def accepted(stack: LeapStack) -> Iterator[Accepted]:
    """Every finding that is known and wanted."""
    yield from _ingest(stack)
    yield from _rank(stack)
    yield from _nightly(stack)
    yield from _objects(stack)


def _ingest(stack: LeapStack) -> Iterator[Accepted]:
    ingest = stack.ingest
    yield from _function(ingest.function)
    why = "Its queue keeps what it cannot store, and gives it up to a queue of its own"
    yield ingest.function, "Serverless-LambdaDLQ", why
    source = ingest.source
    rule = "Serverless-LambdaEventSourceMappingDestination"
    yield source, rule, "A queue as source has no such destination: its dead letters go to a queue"
    why = "It is where what was given up ends; people send it back"
    yield ingest.dead_letters, "Serverless-SQSRedrivePolicy", why


def _rank(stack: LeapStack) -> Iterator[Accepted]:
    function = stack.rank.function
    yield from _function(function)
    why = "It is asked and answers; nobody invokes it without waiting"
    yield function, "Serverless-LambdaDLQ", why


def _function(function: IConstruct) -> Iterator[Accepted]:
    why = "Locked dependencies, bytecode and sizes are tested for this version; it moves with them"
    yield function, "AwsSolutions-L1", why
    yield function, "Serverless-LambdaLatestVersion", why
    why = "One hop: durations, faults and model age are metrics, and a trace would cost more"
    yield function, "Serverless-LambdaTracing", why


def _nightly(stack: LeapStack) -> Iterator[Accepted]:
    retrain = stack.retrain
    why = "One task an hour a night, which nothing can connect to: its log says what it did"
    yield retrain.network.vpc, "AwsSolutions-VPC7", why
    why = "The run reports its own memory and seconds in its metrics, for each stage of a night"
    yield retrain.cluster, "AwsSolutions-ECS4", why
    why = "They name the stage and its store; there is no secret that the task could be given"
    yield retrain.task, "AwsSolutions-ECS2", why
    why = "It is itself where nights that could not be started end"
    yield retrain.dead_letters, "AwsSolutions-SQS3", why
    yield retrain.dead_letters, "Serverless-SQSRedrivePolicy", why


def _objects(stack: LeapStack) -> Iterator[Accepted]:
    """Objects are named by day, version or number, which no statement can list."""
    ingest, task = stack.ingest.function.role, stack.retrain.task.task_role
    rank, ranker = stack.rank.function.role, stack.launchers.ranking
    assert ingest is not None  # it was given one
    assert rank is not None
    for part in ("attempts", "rejected", "rankings"):
        yield ingest, _under(stack, part), f"It writes under {part}/, a name for each batch"
    yield rank, _under(stack, "models"), "It reads whichever version the pointer names"
    yield ranker, _under(stack, "models"), "It reads whichever version the pointer names"
    yield task, _under(stack, "attempts"), "It reads every day of its window"
    yield task, _under(stack, "attempts", "*/merged-*"), "It merges the small files of any day"
    yield task, _under(stack, "models"), "It alone writes versions, a name for each"
    yield task, _under(stack, "reports"), "It writes a report for each version"
    stage = stack.settings.stage
    yield task, _under(stack, f"scratch/{stage}"), "It keeps the fits of a night, a name for each"
    for target in TRAINED_TARGETS:
        moves = f"pointers/{stage}/{target}.moves"
        yield task, _under(stack, moves), f"It records each move of {target}, a number for each"


def _under(stack: LeapStack, folder: str, names: str = "*") -> str:
    """cdk-nag's name for a right to all objects below a folder of the store, or of some names."""
    bucket = stack.get_logical_id(stack.store.resource)
    return f"AwsSolutions-IAM5[Resource::<{bucket}.Arn>/{folder}/{names}]"
