"""The rights of a deployed stage, one action on one resource each, and how to take one away.

IAM on the local AWS decides every call by what policies say at that moment, also for sessions that
began before: a right that is taken away is gone with the next call, and back with the one after.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import boto3
from botocore.exceptions import ClientError

from cli.local_aws.roles import taken
from cli.local_aws.server import ACCOUNT, REGION

_DIGEST = 8
"""Characters that CloudFormation's ids end in."""


OBJECTS = ("STORE/pointers/STAGE/throughput.json", "STORE/pointers/STAGE/utilization.json")
"""What a ranker compares the parameters of its pointers with."""
BY_PARAMETER = "it ranks by the parameter, which may have been set back, and every look"


@dataclass(frozen=True, order=True)
class Grant:
    """One action on one resource that an identity is allowed, with names that last."""

    identity: str
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.identity} {self.action} {self.resource}"


@dataclass(frozen=True)
class Measured:
    """What became of a stage without a grant, and how that was found."""

    how: str
    without: str


@dataclass
class Table:
    """What was measured so far, grant by grant."""

    rows: dict[Grant, Measured] = field(default_factory=dict)

    def add(self, grant: Grant, how: str, without: str) -> None:
        """Keep what a grant's absence broke."""
        self.rows[grant] = Measured(how, without)

    def lines(self) -> list[str]:
        """The rows of a Markdown table."""
        return [
            f"| {grant.identity} | `{grant.action}` | `{grant.resource}` | {row.how} | "
            f"{row.without} |"
            for grant, row in sorted(self.rows.items())
        ]


TABLE = Table()
"""Of this test session; printed at its end."""


class Rights:
    """Every role and managed policy of a stack, as IAM has them.

    Parameters
    ----------
    stack, stage : str
        Names of the stack and its stage.
    """

    def __init__(self, stack: str, stage: str) -> None:
        self._iam = boto3.client("iam")
        self._stage = stage
        listed = boto3.client("cloudformation").get_paginator("list_stack_resources")
        self.resources: dict[str, tuple[str, str]] = {
            entry["LogicalResourceId"][:-_DIGEST]: (
                entry["ResourceType"],
                entry["PhysicalResourceId"],
            )
            for page in listed.paginate(StackName=stack)
            for entry in page["StackResourceSummaries"]
        }
        self.identities = {
            name: physical
            for name, (kind, physical) in self.resources.items()
            if kind in ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy")
        }
        self.credentials = cache(self._credentials)

    def physical(self, name: str) -> str:
        """What AWS calls a resource, by its logical id without the digest."""
        return self.resources[name][1]

    def grants(self) -> list[Grant]:
        """Every right of every identity."""
        return [
            Grant(identity, action, self.short(resource))
            for identity in self.identities
            for document in self._documents(identity).values()
            for action, resource, _ in _single(document)
        ]

    def raw(self, grant: Grant) -> str:
        """A grant's resource as the policy has it."""
        (found,) = {
            resource
            for document in self._documents(grant.identity).values()
            for action, resource, _ in _single(document)
            if (action, self.short(resource)) == (grant.action, grant.resource)
        }
        return found

    @contextmanager
    def without(self, *grants: Grant) -> Iterator[None]:
        """While the block runs, these grants are not there; all others of their identity are.

        Raises
        ------
        LookupError
            One of them is none that the stack gives.
        """
        (identity,) = {grant.identity for grant in grants}
        before = self._documents(identity)
        taken_away = {(grant.action, grant.resource) for grant in grants}
        found: set[tuple[str, str]] = set()
        for place, document in before.items():
            parts = [(part, (part[0], self.short(part[1]))) for part in _single(document)]
            gone = {name for _, name in parts if name in taken_away}
            if gone:
                found |= gone
                kept = [_one(*part) for part, name in parts if name not in gone]
                self._write(identity, place, {**document, "Statement": kept})
        try:
            if found != taken_away:
                raise LookupError(f"the stack does not give {taken_away - found}")
            yield
        finally:
            for place, document in before.items():
                self._write(identity, place, document)
            assert list(self._documents(identity).values()) == list(before.values())

    def short(self, text: str) -> str:
        """Text with lasting words in place of what differs from one deployment to the next."""
        for name, (kind, physical) in self.resources.items():
            if kind in ("AWS::IAM::Role", "AWS::Logs::LogGroup"):
                text = text.replace(physical, name)
        text = text.replace(f"arn:aws:s3:::{self.physical('StoreBucket')}", "STORE")
        text = re.sub(r"arn:aws:s3:::cdk-[\w-]+/[0-9a-f]{64}\.zip", "the task's code", text)
        text = re.sub(rf"arn:aws:\w+:(?:{REGION})?:{ACCOUNT}:(?:parameter(?=/))?", "", text)
        text = re.sub(rf"(?<=leap-){self._stage}\b|(?<=/){self._stage}(?=/)", "STAGE", text)
        text = re.sub(r"\d{4}-\d\d-\d\d-[0-9a-f]{12}", "VERSION", text)
        text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
        return re.sub(r"\b[0-9a-f]{16,}\b", "DIGEST", text)

    def _documents(self, identity: str) -> dict[str, dict[str, Any]]:
        """An identity's policies, by the name of an inline one; a managed one has none here."""
        kind, physical = self.resources[identity]
        if kind == "AWS::IAM::ManagedPolicy":
            version = self._iam.get_policy(PolicyArn=physical)["Policy"]["DefaultVersionId"]
            found = self._iam.get_policy_version(PolicyArn=physical, VersionId=version)
            return {"": found["PolicyVersion"]["Document"]}
        assert not self._iam.list_attached_role_policies(RoleName=physical)["AttachedPolicies"]
        names = self._iam.list_role_policies(RoleName=physical)["PolicyNames"]
        return {
            name: self._iam.get_role_policy(RoleName=physical, PolicyName=name)["PolicyDocument"]
            for name in names
        }

    def _write(self, identity: str, place: str, document: Mapping[str, Any]) -> None:
        text = json.dumps(document)
        kind, physical = self.resources[identity]
        if kind != "AWS::IAM::ManagedPolicy":
            self._iam.put_role_policy(RoleName=physical, PolicyName=place, PolicyDocument=text)
            return
        # Always a new version: the local AWS does not know how to go back to an old one.
        versions = self._iam.list_policy_versions(PolicyArn=physical)["Versions"]
        self._iam.create_policy_version(PolicyArn=physical, PolicyDocument=text, SetAsDefault=True)
        for version in versions:
            self._iam.delete_policy_version(PolicyArn=physical, VersionId=version["VersionId"])

    def _credentials(self, role: str) -> dict[str, str]:
        """The variables of a role's temporary credentials, as its service would get them."""
        return taken(f"arn:aws:iam::{ACCOUNT}:role/{self.physical(role)}")


def _single(document: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """A document's statements, taken apart into one action, one resource and the condition."""
    parts = []
    for statement in document["Statement"]:
        assert statement.keys() <= {"Effect", "Action", "Resource", "Condition", "Sid"}
        assert statement["Effect"] == "Allow"
        parts += [
            (action, resource, statement.get("Condition"))
            for action in _listed(statement["Action"])
            for resource in _listed(statement["Resource"])
        ]
    return parts


def _one(action: str, resource: str, condition: Any) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return statement if condition is None else statement | {"Condition": condition}


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def refusal(fault: ClientError) -> str:
    """The action that a call was refused for lack of a policy; empty where that is not why."""
    error = fault.response["Error"]
    if not error["Code"].startswith("AccessDenied"):
        return ""
    named = re.search(r"not authorized to perform: (\S+)", error["Message"])
    return named[1].lower() if named else ""
