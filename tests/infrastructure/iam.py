"""AWS as a role sees it: moto, with the template's own statements in front of it.

A call that no statement allows is refused as AWS refuses it, and an object that is not there is a
refusal to whoever may not list the bucket, which is how S3 answers.
"""

import fnmatch
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from tests.infrastructure.templates import Template, listed

REGION = "eu-west-1"
ACCOUNT = "123456789012"
BUCKET = "fleet"
_NAMES = {
    "<StoreBucket.Arn>": f"arn:aws:s3:::{BUCKET}",
    "<IngestBus.Arn>": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/leap-dev",
    "<AWS::Partition>": "aws",
    "<AWS::Region>": REGION,
    "<AWS::AccountId>": ACCOUNT,
}
_ACTIONS = {
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
    "ListObjectsV2": "s3:ListBucket",
    "GetObjectTagging": "s3:GetObjectTagging",
    "PutObjectTagging": "s3:PutObjectTagging",
    "GetParameter": "ssm:GetParameter",
    "PutParameter": "ssm:PutParameter",
    "PutEvents": "events:PutEvents",
}
_call = BaseClient._make_api_call


@dataclass
class Role:
    """An identity of the template, and what it was refused."""

    statements: list[dict[str, Any]]
    refused: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, template: Template, identity: str) -> "Role":
        """The one of this short id; statements with a condition are not for here."""
        return cls([s for s in template.statements(identity) if "Condition" not in s])

    def may(self, action: str, resource: str) -> bool:
        """Whether a statement allows it."""
        return any(
            action in listed(statement["Action"])
            and any(fnmatch.fnmatchcase(resource, _named(one)) for one in _resources(statement))
            for statement in self.statements
        )

    def check(self, action: str, resource: str) -> None:
        """Refuse what is not allowed, as AWS does."""
        self.used.add(action)
        if not self.may(action, resource):
            self.refused.append(f"{action} on {resource}")
            raise _refusal(action)


@contextmanager
def acting_as(role: Role) -> Iterator[Role]:
    """Every AWS client of this process is the role's, while the block runs."""

    def call(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        action, resource = _ACTIONS[operation], _resource(operation, parameters)
        role.check(action, resource)
        if "IfMatch" in parameters:
            role.check("s3:GetObject", resource)
        try:
            return _call(client, operation, parameters)
        except ClientError as fault:
            absent = fault.response["Error"]["Code"] in ("NoSuchKey", "404")
            if absent and not role.may("s3:ListBucket", f"arn:aws:s3:::{BUCKET}"):
                raise _refusal(action) from None
            raise

    with patch.object(BaseClient, "_make_api_call", call):
        yield role


def _resource(operation: str, parameters: dict[str, Any]) -> str:
    if operation == "PutEvents":
        (bus,) = {entry["EventBusName"] for entry in parameters["Entries"]}
        return f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{bus}"
    if "Bucket" in parameters:
        bucket = f"arn:aws:s3:::{parameters['Bucket']}"
        return f"{bucket}/{parameters['Key']}" if "Key" in parameters else bucket
    return f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{parameters['Name']}"


def _resources(statement: dict[str, Any]) -> list[str]:
    return listed(statement["Resource"])


def _named(pattern: str) -> str:
    for name, value in _NAMES.items():
        pattern = pattern.replace(name, value)
    return pattern


def _refusal(action: str) -> ClientError:
    error: Any = {"Error": {"Code": "AccessDenied", "Message": f"not authorized to {action}"}}
    return ClientError(error, action.partition(":")[2])
