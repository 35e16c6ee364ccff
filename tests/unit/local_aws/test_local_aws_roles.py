"""Roles are taken without leaving them open; moto is the AWS."""

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from cli.local_aws.roles import LauncherRole, taken

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ecs-tasks.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
NAMES = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


def test_a_role_is_taken_and_trusts_afterwards_whom_it_trusted_before() -> None:
    iam = boto3.client("iam")
    role = iam.create_role(RoleName="task", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]
    assert set(taken(role["Arn"])) == NAMES
    assert iam.get_role(RoleName="task")["Role"]["AssumeRolePolicyDocument"] == TRUST


def test_a_launcher_has_the_one_policy_and_goes_with_it() -> None:
    iam = boto3.client("iam")
    statement = {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    policy = iam.create_policy(PolicyName="launcher", PolicyDocument=document)["Policy"]["Arn"]
    launcher = LauncherRole("launcher", policy)
    assert set(launcher.credentials) == NAMES
    (role,) = iam.list_roles()["Roles"]
    attached = iam.list_attached_role_policies(RoleName=role["RoleName"])["AttachedPolicies"]
    assert role["RoleName"] == "launcher"
    assert [entry["PolicyArn"] for entry in attached] == [policy]
    launcher.remove()
    assert iam.list_roles()["Roles"] == []
    iam.delete_policy(PolicyArn=policy)  # nothing uses it any more
