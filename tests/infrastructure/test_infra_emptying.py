"""Before a stage is taken down: its buckets are emptied, those of prod never."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra import emptying
from infra.settings import Settings

REGION = "us-east-1"


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield


class Stacks:
    """CloudFormation, as far as it is asked: stacks, and a page for each of their resources."""

    def __init__(self) -> None:
        self.resources: dict[str, list[tuple[str, str, str]]] = {}

    def get_paginator(self, operation: str) -> "Stacks":
        assert operation == "list_stack_resources"
        return self

    def paginate(self, *, StackName: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        if StackName not in self.resources:
            error: Any = {"Error": {"Code": "ValidationError", "Message": "does not exist"}}
            raise ClientError(error, "ListStackResources")
        names = ("ResourceType", "PhysicalResourceId", "ResourceStatus")
        for resource in self.resources[StackName]:
            yield {"StackResourceSummaries": [dict(zip(names, resource, strict=True))]}


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> Stacks:
    """CloudFormation; all else is moto's."""
    found, client = Stacks(), boto3.client

    def chosen(service: str) -> Any:
        return found if service == "cloudformation" else client(service)

    monkeypatch.setattr(boto3, "client", chosen)
    return found


def deployed(stacks: Stacks, stage: str) -> list[str]:
    """A stack with two buckets, one of them versioned, that hold something; the buckets' names."""
    s3 = boto3.client("s3")
    names = [f"leap-{stage}-store", f"leap-{stage}-logs"]
    for name in names:
        s3.create_bucket(Bucket=name)
        if name.endswith("store"):
            versioning: Any = {"Status": "Enabled"}
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=versioning)
        for content in (b"1", b"2"):
            s3.put_object(Bucket=name, Key="attempts/a", Body=content)
        s3.delete_object(Bucket=name, Key="attempts/a")
        s3.put_object(Bucket=name, Key="models/b", Body=b"3")
    stacks.resources[f"leap-{stage}"] = [
        ("AWS::SQS::Queue", "a-queue", "CREATE_COMPLETE"),
        *(("AWS::S3::Bucket", name, "UPDATE_COMPLETE") for name in names),
        ("AWS::S3::Bucket", "long-gone", "DELETE_COMPLETE"),
    ]
    return names


def left(name: str) -> int:
    """Versions and markers that a bucket holds."""
    found = boto3.client("s3").list_object_versions(Bucket=name)
    return len(found.get("Versions", ())) + len(found.get("DeleteMarkers", ()))


def settings(stage: str) -> Settings:
    """Of a stage."""
    return Settings.of_context({"stage": stage}.get)


def test_every_version_of_every_object_goes_and_nothing_comes_after(stacks: Stacks) -> None:
    names = deployed(stacks, "dev")
    elsewhere = deployed(stacks, "team-b")
    assert all(left(name) for name in names)
    emptied = emptying.empty(settings("dev"), stacks, boto3.client("s3"))
    assert sorted(emptied) == sorted(names)
    assert [left(name) for name in names] == [0, 0]
    assert all(left(name) for name in elsewhere)
    policy = json.loads(boto3.client("s3").get_bucket_policy(Bucket=names[0])["Policy"])
    (statement,) = policy["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:PutObject")
    assert statement["Resource"] == f"arn:aws:s3:::{names[0]}/*"


def test_prod_keeps_everything(stacks: Stacks, capsys: pytest.CaptureFixture[str]) -> None:
    names = deployed(stacks, "prod")
    emptying.main(["prod"])
    assert "keeps its buckets" in capsys.readouterr().out
    assert emptying.empty(settings("prod"), None, None) == []
    assert all(left(name) for name in names)


def test_nothing_goes_before_a_person_has_typed_the_stage(
    stacks: Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = deployed(stacks, "dev")
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    with pytest.raises(SystemExit, match="nothing was deleted"):
        emptying.main(["dev"])
    assert all(left(name) for name in names)
    monkeypatch.setattr("builtins.input", lambda _: "dev")
    emptying.main(["dev"])
    assert not any(left(name) for name in names)


def test_a_stage_that_is_not_deployed_is_said_in_one_line(
    stacks: Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "dev")
    with pytest.raises(SystemExit, match="leap-dev could not be emptied"):
        emptying.main(["dev"])
    with pytest.raises(ClientError):
        emptying.empty(settings("dev"), stacks, boto3.client("s3"))


@pytest.mark.parametrize("arguments", [[], ["dev", "prod"], ["NO"]])
def test_one_stage_must_be_named(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="one stage must be named"):
        emptying.main(arguments)
