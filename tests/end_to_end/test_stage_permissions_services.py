"""Rights that services use on a role's behalf, and those that the local AWS decides otherwise.

Lambda's poller, its log writer and Scheduler take a role and make a call. The local AWS does their
work without asking, so the call is made here with the role's credentials. Where it would not
decide as AWS does, the difference is shown, so that it is noticed when it goes away.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cli.local_aws.environment import acting_as
from cli.local_aws.roles import taken
from cli.local_aws.schedule import run_task_call
from cli.local_aws.server import ACCOUNT
from leap_model import RankClient
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.permissions import TABLE, Grant, Rights, refusal
from tests.support import checked, request

Call = Callable[[Stage, Rights, Any], Any]
HELD = "held by `test_every_identity_may_do_this_and_no_more`"

CALLS: dict[Grant, Call] = {
    Grant("IngestRole", "sqs:ReceiveMessage", "leap-STAGE-attempts"): (
        lambda stage, rights, sqs: sqs.receive_message(QueueUrl=stage.outputs["QueueUrl"])
    ),
    Grant("IngestRole", "sqs:DeleteMessage", "leap-STAGE-attempts"): (
        lambda stage, rights, sqs: sqs.delete_message(
            QueueUrl=stage.outputs["QueueUrl"], ReceiptHandle="none"
        )
    ),
    Grant("IngestRole", "sqs:GetQueueAttributes", "leap-STAGE-attempts"): (
        lambda stage, rights, sqs: sqs.get_queue_attributes(QueueUrl=stage.outputs["QueueUrl"])
    ),
    Grant("RetrainScheduleRole", "sqs:SendMessage", "leap-STAGE-nightly-dlq"): (
        lambda stage, rights, sqs: sqs.send_message(
            QueueUrl=rights.physical("RetrainDeadLetters"), MessageBody="a night that did not start"
        )
    ),
}
"""The call that a service makes with a role, given a client of the action's service."""
NEEDED = {
    "sqs:ReceiveMessage": "Lambda's poller is refused: attempts wait in the queue, up to 14 days",
    "sqs:DeleteMessage": "Lambda's poller is refused: what was stored is delivered again",
    "sqs:GetQueueAttributes": "Lambda's poller is refused: AWS takes no event source without it",
    "sqs:SendMessage": "Scheduler is refused: a night that could not be started leaves no trace",
}
LOGS = {
    Grant(f"{name}Role", f"logs:{action}", f"log-group:{group}:*"): name
    for name, group in (
        ("Ingest", "IngestLog"),
        ("Rank", "RankLog"),
        ("RetrainExecution", "RetrainLog"),
    )
    for action in ("CreateLogStream", "PutLogEvents")
}
RUN = Grant("RetrainScheduleRole", "ecs:RunTask", "task-definition/leap-STAGE-retrain:1")
PASS = [
    Grant("RetrainScheduleRole", "iam:PassRole", f"role/{role}")
    for role in ("RetrainTaskRole", "RetrainExecutionRole")
]
INVOKE = Grant("LaunchersSending", "lambda:InvokeFunction", "function:leap-STAGE-rank")
GRANTS = [*CALLS, *LOGS, RUN, *PASS, INVOKE]


@pytest.fixture(scope="module")
def rights(stage: Stage) -> Rights:
    """What the stage's identities may do."""
    return Rights(f"leap-{STAGE}", STAGE)


def refused(call: Callable[[], Any]) -> str:
    """The action that a call was refused, empty where it was let in, whatever it then found."""
    try:
        call()
    except ClientError as fault:
        return refusal(fault)
    return ""


@pytest.mark.parametrize("grant", CALLS, ids=str)
def test_a_service_that_takes_a_role_is_refused_without_the_right(
    stage: Stage, rights: Rights, grant: Grant
) -> None:
    client = stage.client(grant.action.split(":")[0], rights.credentials(grant.identity))

    def call() -> Any:
        return CALLS[grant](stage, rights, client)

    assert refused(call) == ""
    with rights.without(grant):
        assert refused(call) == grant.action.lower()
    assert refused(call) == ""
    boto3.client("sqs").purge_queue(QueueUrl=rights.physical("RetrainDeadLetters"))
    TABLE.add(grant, "the service's call, with its role", NEEDED[grant.action])


@pytest.mark.parametrize("grant", LOGS, ids=str)
def test_the_local_aws_asks_logs_of_another_arn_than_aws(
    stage: Stage, rights: Rights, grant: Grant
) -> None:
    logs = stage.client("logs", rights.credentials(grant.identity))
    group = {"logGroupName": rights.physical(f"{LOGS[grant].removesuffix('Execution')}Log")}
    calls = {
        "logs:CreateLogStream": lambda: logs.create_log_stream(**group, logStreamName="none"),
        "logs:PutLogEvents": lambda: logs.put_log_events(
            **group, logStreamName="none", logEvents=[{"timestamp": 1, "message": "none"}]
        ),
    }
    asked_of = refused(calls[grant.action])
    assert asked_of == grant.action.lower(), "it asks as AWS does now: measure this right"
    words = (
        "not decided here: the local AWS writes logs itself, and asks this on the group without "
        f"`:*`. AWS asks it on the group's streams, and logs nothing without it; {HELD}"
    )
    TABLE.add(grant, "the template", words)


def test_the_local_aws_asks_run_task_of_the_cluster(stage: Stage, rights: Rights) -> None:
    ecs = stage.client("ecs", rights.credentials(RUN.identity))
    found = boto3.client("scheduler").get_schedule(Name=stage.outputs["Schedule"])
    call = run_task_call(found["Target"], found["Arn"], datetime.now(UTC))
    asked_of = refused(lambda: ecs.run_task(**call))
    assert asked_of == "ecs:runtask", "it asks as AWS does now: measure this right"
    words = (
        "not decided here: the local AWS starts no tasks of schedules, and asks this on the "
        f"cluster. AWS asks it on the task definition, and no night starts without it; {HELD}"
    )
    TABLE.add(RUN, "the template", words)


def test_the_local_aws_starts_a_task_for_one_who_may_not_pass_its_roles(stage: Stage) -> None:
    iam, name = boto3.client("iam"), "runs-and-passes-nothing"
    owner = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}}
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document(owner, "sts:AssumeRole"))
    everything = {"Effect": "Allow", "Resource": "*"}
    run_only = {"RoleName": name, "PolicyName": "run"}
    iam.put_role_policy(**run_only, PolicyDocument=_document(everything, "ecs:RunTask"))
    ecs = stage.client("ecs", taken(f"arn:aws:iam::{ACCOUNT}:role/{name}"))
    found = boto3.client("scheduler").get_schedule(Name=stage.outputs["Schedule"])
    call = run_task_call(found["Target"], found["Arn"], datetime.now(UTC))
    try:
        started = ecs.run_task(**call)["tasks"]
    finally:
        iam.delete_role_policy(**run_only)
        iam.delete_role(RoleName=name)
    for task in started:
        boto3.client("ecs").stop_task(cluster=call["cluster"], task=task["taskArn"])
    assert len(started) == 1, "it asks for iam:PassRole now: measure this right"
    words = (
        "not decided here: the local AWS does not ask for it. AWS refuses RunTask without, and no "
        f"night starts; {HELD}"
    )
    for grant in PASS:
        TABLE.add(grant, "the template", words)


def test_the_local_aws_asks_one_right_of_two_for_a_function_url(
    trained: tuple[Stage, list[str]], rights: Rights
) -> None:
    stage, _ = trained
    with acting_as(stage.launcher.credentials), rights.without(INVOKE):
        answer = checked(RankClient(stage.url, timeout_s=60.0, sign=True).rank(request()))
    assert answer["reason"] is None, "it asks for both now: measure this right"
    words = (
        "not decided here: the local AWS asks InvokeFunctionUrl alone. AWS asks both, and answers "
        f"403 without; {HELD}"
    )
    TABLE.add(INVOKE, "the template", words)


def _document(statement: dict[str, Any], action: str) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement | {"Action": action}]})
