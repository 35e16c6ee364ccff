"""Who calls, at what time, and whether they may ask the rank function: leap doctor on moto."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from leap_model.aws import client
from leap_model.store import LocalStore
from leap_model.times import now_us
from tests.unit.cli.commands import run
from tests.unit.cli.doctoring import (
    BUCKET,
    REGION,
    STAGE,
    Deployed,
    Policies,
    examined,
    found,
    made,
    sound_stage,
)


@pytest.fixture
def deployed(
    trained: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployed]:
    """A sound stage."""
    with sound_stage(trained, tmp_path, monkeypatch) as stage:
        yield stage


def test_the_call_is_signed_and_asks_for_nothing(deployed: Deployed) -> None:
    assert run("doctor", "--stage", STAGE).exit_code == 0
    ((path, body, authorization),) = deployed.url.asked
    assert (path, body) == ("/doctor", b"{}")
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=")
    assert f"/{REGION}/lambda/aws4_request" in authorization


@pytest.mark.parametrize("refused", ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"])
def test_where_iam_says_who_may_nothing_is_called(
    refused: str, deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    iam = deployed.others["iam"] = Policies(set())
    _called_by(monkeypatch, deployed, "arn:aws:sts::123456789012:assumed-role/runs/me")
    assert examined("--stage", STAGE)[0] == 0
    iam.refused.add(refused)
    _, document = examined("--stage", STAGE)
    ((check, wrong),) = found(document)
    assert check == "function URL"
    assert f"may not {refused} on leap-prod-rank" in wrong
    assert deployed.url.asked == []
    asked = iam.asked[-1]
    assert asked["PolicySourceArn"] == "arn:aws:iam::123456789012:role/runs"
    (function,) = asked["ResourceArns"]
    assert function == f"arn:aws:lambda:{REGION}:123456789012:function:leap-prod-rank"


def _called_by(monkeypatch: pytest.MonkeyPatch, stage: Deployed, arn: str) -> None:
    """Another caller than moto's."""

    class Caller:
        meta = made("sts").meta

        def get_caller_identity(self) -> dict[str, Any]:
            answer: dict[str, Any] = made("sts").get_caller_identity()
            return answer | {"Arn": arn}

    stage.others["sts"] = Caller()


def test_the_account_s_owner_may_do_anything(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    _called_by(monkeypatch, deployed, "arn:aws:iam::123456789012:root")
    deployed.url.status = 403
    assert examined("--stage", STAGE)[0] == 0
    assert deployed.url.asked == []


def test_a_url_that_does_not_answer_is_one_line(deployed: Deployed) -> None:
    deployed.stacks.outputs = {"BucketName": BUCKET, "RankUrl": "http://127.0.0.1:9/"}
    code, document = examined("--stage", STAGE)
    assert code == 2
    (unseen,) = document["unseen"]
    assert unseen["check"] == "function URL"
    assert unseen["why"].startswith("http://127.0.0.1:9/ did not answer: URLError")


@pytest.mark.parametrize(("off_s", "way"), [(400, "ahead of"), (-400, "behind")])
def test_a_wrong_clock_is_found(
    off_s: int, way: str, deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.doctor.account.now_us", lambda: now_us() + off_s * 1_000_000)
    _, document = examined("--stage", STAGE)
    ((check, wrong),) = found(document)
    assert check == "clock"
    assert f"s {way} AWS's" in wrong


def test_a_clock_so_wrong_that_aws_lets_nobody_in_is_found(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer: Any = {
        "Error": {"Code": "SignatureDoesNotMatch", "Message": "Signature expired"},
        "ResponseMetadata": {"HTTPHeaders": {"date": "Tue, 13 Jan 2026 06:00:00 GMT"}},
    }

    class Late:
        meta = made("sts").meta

        def get_caller_identity(self) -> None:
            raise ClientError(answer, "GetCallerIdentity")

    deployed.others["sts"] = Late()
    code, document = examined("--stage", STAGE)
    assert code == 1
    assert [check for check, _ in found(document)] == ["clock"]
    assert document["unseen"] == [{"check": "AWS", "why": "who calls: SignatureDoesNotMatch"}]


def test_without_credentials_one_line_says_so(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("botocore.session.Session.get_credentials", lambda self: None)
    monkeypatch.setattr("cli.doctor.account.client", client)
    boto3.setup_default_session()
    result = run("doctor", "--stage", STAGE)
    boto3.setup_default_session()
    assert result.exit_code == 2
    (line,) = result.stdout.splitlines()
    assert line == (
        "cannot look at AWS: who calls: NoCredentialsError: Unable to locate credentials"
    )


def test_where_aws_cannot_be_reached_one_line_says_so(deployed: Deployed) -> None:
    class Away:
        meta = made("sts").meta

        def get_caller_identity(self) -> None:
            raise EndpointConnectionError(endpoint_url="https://sts.eu-west-1.amazonaws.com/")

    deployed.others["sts"] = Away()
    result = run("doctor", "--stage", STAGE)
    assert result.exit_code == 2
    (line,) = result.stdout.splitlines()
    assert "EndpointConnectionError" in line
