"""Roles whose every permission is written out."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct


def allow(
    *actions: str, on: Sequence[str], where: Mapping[str, Mapping[str, Any]] | None = None
) -> iam.PolicyStatement:
    """A statement that allows these actions on these resources, under these conditions."""
    return iam.PolicyStatement(actions=list(actions), resources=list(on), conditions=where)


def service_role(
    scope: Construct,
    name: str,
    service: str,
    statements: Sequence[iam.PolicyStatement],
    *,
    guarded: bool = False,
) -> iam.Role:
    """A role that a service takes, with these statements alone.

    Parameters
    ----------
    scope, name : Construct, str
        Where it belongs, and its id there.
    service : str
        Such as `lambda.amazonaws.com`.
    statements : sequence of PolicyStatement
        What it may do.
    guarded : bool
        The service says on whose behalf it takes the role; others' is refused.
    """
    account = {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    principal = iam.ServicePrincipal(service, conditions=account if guarded else None)
    policies = {"Written": iam.PolicyDocument(statements=list(statements))} if statements else None
    return iam.Role(scope, name, assumed_by=principal, inline_policies=policies)


def parameters(scope: Construct, *names: str) -> list[str]:
    """The ARNs of SSM parameters."""
    stack = Stack.of(scope)
    return [
        stack.format_arn(service="ssm", resource="parameter", resource_name=name.lstrip("/"))
        for name in names
    ]
