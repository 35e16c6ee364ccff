"""leap doctor as someone who may do little: a line for each look, naming the right, and no more."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.core import set_initial_no_auth_action_count

from leap_model import aws
from leap_model.store import LocalStore
from tests.unit.cli.doctoring import BUCKET, STAGE, Deployed, examined, sound_stage

LACKING = {
    "pointer of throughput": f"ssm:GetParameter on /leap/{STAGE}/throughput/pointer",
    "pointer of utilization": f"ssm:GetParameter on /leap/{STAGE}/utilization/pointer",
    "parameters": f"ssm:GetParameter on /leap/{STAGE}/store",
    "dead letters": f"sqs:GetQueueUrl on leap-{STAGE}-attempts-dlq",
    "queue": f"sqs:GetQueueUrl on leap-{STAGE}-attempts",
    f"function leap-{STAGE}-ingest": f"lambda:GetFunctionConfiguration on leap-{STAGE}-ingest",
    f"function leap-{STAGE}-rank": f"lambda:GetFunctionConfiguration on leap-{STAGE}-rank",
    "event source mapping": f"lambda:ListEventSourceMappings on leap-{STAGE}-ingest",
    "schedule": f"scheduler:GetSchedule on leap-{STAGE}-nightly",
    "nightly dead letters": f"sqs:GetQueueUrl on leap-{STAGE}-nightly-dlq",
    "alarms": "cloudwatch:DescribeAlarms on the alarms",
}

METRICS = "monitoring:*"
"""What moto, which goes by how a call is signed, calls the rights of CloudWatch."""


@pytest.fixture
def deployed(
    trained: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployed]:
    """A sound stage, in an account that asks for rights."""
    # moto makes another signature of a body in JSON or CBOR; what counts here are policies.
    unsigned = "moto.iam.access_control.IAMRequestBase.check_signature"
    monkeypatch.setattr(unsigned, lambda self: None)
    with sound_stage(trained, tmp_path, monkeypatch) as stage:

        def client(service: str, budget: aws.Budget = aws.PATIENT) -> object:
            return stage.others.get(service) or boto3.Session().client(service)

        for place in ("cli.doctor.account.client", "leap_model.aws.client"):
            monkeypatch.setattr(place, client)
        yield stage


def _become(monkeypatch: pytest.MonkeyPatch, *actions: str) -> None:
    """Someone who may do these."""
    iam = boto3.client("iam")
    iam.create_user(UserName="operator")
    key = iam.create_access_key(UserName="operator")["AccessKey"]
    allowed = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName="operator", PolicyName="own", PolicyDocument=document)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])


def _unseen(document: Any) -> dict[str, str]:
    return {entry["check"]: entry["why"] for entry in document["unseen"]}


@set_initial_no_auth_action_count(0)
def _as_it_is() -> tuple[int, Any]:
    return examined("--stage", STAGE)


def test_someone_without_rights_gets_a_line_for_each(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become(monkeypatch, "sts:GetCallerIdentity")
    deployed.send("attempts-dlq", 1)
    code, document = _as_it_is()
    assert (code, document["problems"]) == (2, [])
    unseen = _unseen(document)
    for check, right in LACKING.items():
        assert unseen[check] == f"the caller lacks {right}"
    assert unseen["attempts"].startswith("the caller lacks s3:ListBucket on attempts/dt=")
    assert unseen["catalogue"] == "the caller lacks s3:GetObject on catalogue/hardware.json"
    assert document["checked"] == ["AWS", "clock", "stack", "store", "function URL"]


def test_what_may_be_looked_at_is(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    _become(monkeypatch, "sts:GetCallerIdentity", "sqs:*", METRICS)
    deployed.send("attempts-dlq", 1)
    code, document = _as_it_is()
    assert code == 1
    assert [entry["check"] for entry in document["problems"]] == ["dead letters"]
    assert {"queue", "alarms", "nightly dead letters"} <= set(document["checked"])
    assert {"schedule", "event source mapping"} <= set(_unseen(document))


def test_tags_that_may_not_be_read_are_one_line(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become(
        monkeypatch,
        *("sts:*", "sqs:*", METRICS, "ssm:*", "lambda:*", "scheduler:*", "ecs:*"),
        *("s3:GetObject", "s3:ListBucket"),
    )
    code, document = _as_it_is()
    assert (code, document["problems"]) == (2, [])
    (check,) = _unseen(document)
    assert check == "expiry of the throughput model"
    said = _unseen(document)[check]
    assert said.startswith(f"the caller lacks s3:GetObjectTagging on s3://{BUCKET}/models/")
