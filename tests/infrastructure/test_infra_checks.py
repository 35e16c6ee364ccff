"""cdk-nag: clean, and not because it was told to look away."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App
from aws_cdk import aws_iam as iam

from infra.app import make_app, make_stack
from infra.nag import accepted, acknowledge, check, packs
from infra.stack import LeapStack
from tests.infrastructure.templates import NO_BUNDLES

Finding = tuple[str, str]
"""A rule, and the path of the resource that breaks it."""


@pytest.fixture
def app(tmp_path: Path) -> App:
    """An app that makes no bundles."""
    return make_app({**NO_BUNDLES, "stage": "prod"}, outdir=str(tmp_path))


@pytest.fixture
def stack(app: App) -> LeapStack:
    """What is deployed as prod, without anything acknowledged."""
    return make_stack(app)


def findings(app: App, stack: LeapStack) -> Iterator[Finding]:
    """What the packs find in a stack."""
    for pack in packs(app):
        for violation in pack.validate_scope(stack).violations:
            for resource in violation.violating_resources:
                yield violation.rule_name, str(resource.construct_path)


def test_no_finding_is_left(app: App, stack: LeapStack) -> None:
    acknowledge(stack)
    assert list(findings(app, stack)) == []


def test_each_finding_is_accepted_once_on_the_construct_that_has_it(
    app: App, stack: LeapStack
) -> None:
    found = list(findings(app, stack))
    known = [(construct.node.path, rule) for construct, rule, _ in accepted(stack)]
    for rule, path in found:
        matching = [1 for where, which in known if which == rule and _below(path, where)]
        assert len(matching) == 1, f"{rule} of {path}"
    for where, which in known:
        matching = [1 for rule, path in found if which == rule and _below(path, where)]
        assert len(matching) == 1, f"{which} accepted of {where}"


def _below(path: str, where: str) -> bool:
    return path == where or path.startswith(f"{where}/")


def test_each_acceptance_has_a_reason_and_none_is_of_the_whole_stack(stack: LeapStack) -> None:
    for construct, rule, reason in accepted(stack):
        assert construct is not stack
        assert construct.node.path.count("/") >= 2, construct.node.path
        assert len(reason) > 30
        if "IAM5" in rule:
            assert rule.endswith(("/*]", "/merged-*]")), (
                "only objects below one folder of the store"
            )
            assert "Action::" not in rule


def test_a_wildcard_that_is_planted_is_a_finding(app: App, stack: LeapStack) -> None:
    acknowledge(stack)
    plant(stack)
    found = list(findings(app, stack))
    policy = "leap-prod/Rank/Role/DefaultPolicy/Resource"
    assert ("AwsSolutions-IAM5[Action::s3:*]", policy) in found
    assert ("AwsSolutions-IAM5[Resource::*]", policy) in found


def test_a_planted_wildcard_stops_the_synthesis(app: App, stack: LeapStack) -> None:
    check(app, stack)
    plant(stack)
    with pytest.raises(RuntimeError, match=r"AwsSolutions-IAM5\[Action::s3:\*\]"):
        app.synth()


def test_without_it_the_synthesis_goes_through(app: App, stack: LeapStack) -> None:
    check(app, stack)
    assert app.synth().get_stack_by_name("leap-prod").template


def plant(stack: LeapStack) -> None:
    """Give the rank function's role everything of S3."""
    assert stack.rank.function.role is not None
    stack.rank.function.role.add_to_principal_policy(
        iam.PolicyStatement(actions=["s3:*"], resources=["*"])
    )
