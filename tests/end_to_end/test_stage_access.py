"""Whom the function URL of a deployed stage answers, and whom it refuses.

What the local AWS lets through though AWS refuses it is named here as a strict expected failure,
with what holds the template to it.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import boto3
import pytest

from cli.local_aws.roles import LauncherRole
from cli.local_aws.server import ACCOUNT, REGION
from leap_model import sigv4
from leap_model.posting import post
from leap_model.sigv4 import Credentials, signed_headers
from tests.end_to_end.conftest import STAGE, Stage
from tests.support import checked, request

Trained = tuple[Stage, list[str]]

BODY = json.dumps(request()).encode()
ELSEWHERE = "111111111111"
"""An account that has nothing to do with the stage's."""
TIMEOUT_S = 60.0


@pytest.fixture
def serving(trained: Trained) -> Stage:
    """A stage that has a model to rank with."""
    return trained[0]


def keys_of(variables: Mapping[str, str]) -> Credentials:
    """Credentials from the variables that hold them."""
    return Credentials(
        variables["AWS_ACCESS_KEY_ID"],
        variables["AWS_SECRET_ACCESS_KEY"],
        variables.get("AWS_SESSION_TOKEN"),
    )


def signed(
    stage: Stage,
    credentials: Credentials | None = None,
    *,
    url: str | None = None,
    region: str = REGION,
    late: timedelta = timedelta(0),
) -> dict[str, str]:
    """The headers of a launcher's call, or of one that differs from it."""
    keys = credentials or keys_of(stage.launcher.credentials)
    return signed_headers(url or stage.url, BODY, keys, region, datetime.now(UTC) - late)


def called(stage: Stage, headers: Mapping[str, str], body: bytes = BODY) -> tuple[int, Any]:
    """Status and document of what comes back."""
    status, content = post(stage.url, body, TIMEOUT_S, headers)
    return status, json.loads(content)


def is_answered(stage: Stage, headers: Mapping[str, str]) -> None:
    """Fail unless the call got its preference."""
    status, answer = called(stage, headers)
    assert status == 200
    assert checked(answer)["preference"]


def is_refused(stage: Stage, headers: Mapping[str, str], why: str, body: bytes = BODY) -> None:
    """Fail unless the call is refused before the function hears of it."""
    status, refusal = called(stage, headers, body)
    assert status == 403
    assert why in json.dumps(refusal)
    assert "ranking_id" not in refusal


def test_a_launcher_is_answered(serving: Stage) -> None:
    is_answered(serving, signed(serving))


def test_a_launcher_whose_clock_is_four_minutes_off_is_answered(serving: Stage) -> None:
    for late in (timedelta(minutes=4), timedelta(minutes=-4)):
        is_answered(serving, signed(serving, late=late))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Basic bGVhcDpsZWFw"},
        {"Authorization": "Bearer leap"},
        {"Authorization": "AWS4-HMAC-SHA256"},
        {"X-Amz-Security-Token": "a-token-by-itself"},
    ],
    ids=["nothing", "basic", "bearer", "an empty signature", "a token alone"],
)
def test_an_unsigned_call_is_refused(serving: Stage, headers: dict[str, str]) -> None:
    is_refused(serving, {"Content-Type": "application/json", **headers}, "")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "secret": ({"secret_key": "0" * 40}, "InvalidSignature"),
    "token": ({"token": "0" * 40}, "security token included in the request is invalid"),
    "no token": ({"token": None}, "security token included in the request is invalid"),
    "unknown key": ({"access_key": "ASIA0000000000000000"}, "security token included"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_call_that_is_signed_with_other_credentials_is_refused(
    serving: Stage, wrong: str
) -> None:
    replaced, why = WRONG[wrong]
    launcher = keys_of(serving.launcher.credentials)
    is_refused(serving, signed(serving, launcher._replace(**replaced)), why)


def test_the_signature_of_another_body_is_refused(serving: Stage) -> None:
    other = json.dumps(request(candidates=["slow-4"])).encode()
    for body in (BODY + b" ", other, b""):
        is_refused(serving, signed(serving), "InvalidSignature", body)


def test_the_signature_of_another_path_is_refused(serving: Stage) -> None:
    is_refused(serving, signed(serving, url=f"{serving.url}rank"), "InvalidSignature")


def test_a_signature_with_a_digit_changed_is_refused(serving: Stage) -> None:
    headers = signed(serving)
    name = "Authorization"
    last = headers[name][-1]
    headers[name] = headers[name][:-1] + ("0" if last != "0" else "1")
    is_refused(serving, headers, "InvalidSignature")


@pytest.mark.parametrize(("minutes", "why"), [(20, "Signature expired"), (-20, "not yet current")])
def test_a_signature_of_another_time_is_refused(serving: Stage, minutes: int, why: str) -> None:
    is_refused(serving, signed(serving, late=timedelta(minutes=minutes)), why)


def test_a_time_that_is_not_the_signed_one_is_refused(serving: Stage) -> None:
    earlier = signed(serving, late=timedelta(minutes=1))["X-Amz-Date"]
    is_refused(serving, signed(serving) | {"X-Amz-Date": earlier}, "InvalidSignature")


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="ministack 1.5.33 takes the region of a signature as it is",
)
def test_a_signature_for_another_region_is_refused(serving: Stage) -> None:
    is_refused(serving, signed(serving, region="eu-west-1"), "")


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="ministack 1.5.33 takes the service of a signature as it is",
)
@pytest.mark.parametrize("service", ["s3", "execute-api"])
def test_a_signature_for_another_service_is_refused(serving: Stage, service: str) -> None:
    with patch.object(sigv4, "_SERVICE", service):
        headers = signed(serving)
    is_refused(serving, headers, "")


@pytest.fixture
def stranger(serving: Stage) -> Iterator[LauncherRole]:
    """A role of the stage's account that may rank in process, and not ask."""
    role = LauncherRole("no-launcher", serving.outputs["RankerPolicy"])
    yield role
    role.remove()


def test_a_role_without_the_policy_is_refused(serving: Stage, stranger: LauncherRole) -> None:
    is_refused(serving, signed(serving, keys_of(stranger.credentials)), "lambda:InvokeFunctionUrl")


def test_another_role_with_the_policy_is_answered_until_it_is_taken_from_it(serving: Stage) -> None:
    policy = serving.outputs["LauncherPolicy"]
    second = LauncherRole("second-launcher", policy)
    headers = signed(serving, keys_of(second.credentials))
    is_answered(serving, headers)
    boto3.client("iam").detach_role_policy(RoleName="second-launcher", PolicyArn=policy)
    is_refused(serving, headers, "lambda:InvokeFunctionUrl")
    boto3.client("iam").delete_role(RoleName="second-launcher")


@pytest.fixture
def foreign(serving: Stage) -> Iterator[Credentials]:
    """A role of another account, which lets it call the stage's function."""
    function = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:leap-{STAGE}-rank"
    actions = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"]
    allowed = {"Effect": "Allow", "Action": actions, "Resource": function}
    owner = {"AWS": f"arn:aws:iam::{ELSEWHERE}:root"}
    trusted = {"Effect": "Allow", "Principal": owner, "Action": "sts:AssumeRole"}
    account = {"AWS_ACCESS_KEY_ID": ELSEWHERE, "AWS_SECRET_ACCESS_KEY": "its-own"}
    iam, sts = serving.client("iam", account), serving.client("sts", account)
    name = {"RoleName": "foreign"}
    arn = iam.create_role(**name, AssumeRolePolicyDocument=_policy(trusted))["Role"]["Arn"]
    iam.put_role_policy(**name, PolicyName="ask", PolicyDocument=_policy(allowed))
    found = sts.assume_role(RoleArn=arn, RoleSessionName="foreign")["Credentials"]
    yield Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
    iam.delete_role_policy(**name, PolicyName="ask")
    iam.delete_role(**name)


def test_what_the_function_lets_in_is_its_own_account_and_signed_calls_alone(
    serving: Stage,
) -> None:
    function = {"FunctionName": f"leap-{STAGE}-rank"}
    lambda_ = boto3.client("lambda")
    statements = json.loads(lambda_.get_policy(**function)["Policy"])["Statement"]
    assert [statement["Action"] for statement in statements] == [
        "lambda:InvokeFunctionUrl",
        "lambda:InvokeFunction",
    ]
    for statement in statements:
        assert statement["Principal"] == {"AWS": ACCOUNT}
        assert statement["Condition"]
    assert lambda_.get_function_url_config(**function)["AuthType"] == "AWS_IAM"


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="ministack 1.5.33 does not ask a function's own policy about another account's callers",
)
def test_a_role_of_another_account_that_lets_it_call_is_refused(
    serving: Stage, foreign: Credentials
) -> None:
    is_refused(serving, signed(serving, foreign), "")


def test_a_role_of_another_account_that_may_do_something_else_is_refused(
    serving: Stage, foreign: Credentials
) -> None:
    account = {"AWS_ACCESS_KEY_ID": ELSEWHERE, "AWS_SECRET_ACCESS_KEY": "its-own"}
    other = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}
    serving.client("iam", account).put_role_policy(
        RoleName="foreign", PolicyName="ask", PolicyDocument=_policy(other)
    )
    is_refused(serving, signed(serving, foreign), "lambda:InvokeFunctionUrl")


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="ministack 1.5.33 takes any account's number as its owner's key, unchecked",
)
@pytest.mark.parametrize("account", [ACCOUNT, ELSEWHERE])
def test_an_account_number_with_a_made_up_secret_is_refused(serving: Stage, account: str) -> None:
    is_refused(serving, signed(serving, Credentials(account, "made-up", None)), "")


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
