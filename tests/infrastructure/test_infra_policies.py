"""Who may do what, statement by statement. A right that is new is new here, too."""

import re
from typing import Any

import pytest

from tests.infrastructure.templates import Template, listed

STORE = "<StoreBucket.Arn>"
TRAINED = "throughput"
"""The target that the nightly run trains; rankers look for a model of the other one, too."""


def pointers(stage: str) -> list[str]:
    """The objects that say where a stage's pointers are and were."""
    return [f"{STORE}/pointers/{stage}/{TRAINED}{part}" for part in (".json", ".moves/*")]


def parameters(stage: str, *targets: str) -> list[str]:
    """The pointers that readers follow."""
    start = "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter"
    return [f"{start}/leap/{stage}/{target}/pointer" for target in targets]


def reading(stage: str) -> list[tuple[Any, ...]]:
    """What a ranker needs."""
    documents = (TRAINED, "utilization", "switches")
    objects = [
        f"{STORE}/models/*",
        *(f"{STORE}/pointers/{stage}/{name}.json" for name in documents),
    ]
    return [
        ("s3:GetObject", objects),
        ("ssm:GetParameter", parameters(stage, TRAINED, "utilization")),
    ]


def log(group: str) -> tuple[Any, ...]:
    """Writing one log."""
    return ["logs:CreateLogStream", "logs:PutLogEvents"], [f"<{group}.Arn>"]


def expected(stage: str) -> dict[str, list[tuple[Any, ...]]]:
    """Actions, resources and, where there is one, the condition of each statement."""
    records = [f"{STORE}/{part}/*" for part in ("attempts", "rejected", "rankings")]
    start = "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter"
    return {
        "IngestRole": [
            log("IngestLog"),
            (
                [
                    "sqs:ReceiveMessage",
                    "sqs:DeleteMessage",
                    "sqs:GetQueueAttributes",
                ],
                ["<IngestQueue.Arn>"],
            ),
            ("s3:PutObject", records),
        ],
        "RankRole": [
            log("RankLog"),
            *reading(stage),
            ("events:PutEvents", ["<IngestBus.Arn>"]),
        ],
        "RetrainTaskRole": [
            ("s3:GetObject", ["<the task's own code>"]),
            ("s3:ListBucket", [STORE]),
            (
                "s3:GetObject",
                [
                    f"{STORE}/attempts/*",
                    f"{STORE}/catalogue/hardware.json",
                    f"{STORE}/models/*",
                    f"{STORE}/reports/*",
                    f"{STORE}/scratch/{stage}/*",
                    *pointers(stage),
                ],
            ),
            (
                "s3:PutObject",
                [
                    f"{STORE}/attempts/*/merged-*",
                    f"{STORE}/models/*",
                    f"{STORE}/reports/*",
                    f"{STORE}/scratch/{stage}/*",
                    *pointers(stage),
                ],
            ),
            ("s3:GetObjectTagging", [f"{STORE}/models/*"]),
            ("s3:PutObjectTagging", [f"{STORE}/attempts/*", f"{STORE}/models/*"]),
            (["ssm:GetParameter", "ssm:PutParameter"], parameters(stage, TRAINED)),
        ],
        "RetrainExecutionRole": [log("RetrainLog")],
        "RetrainScheduleRole": [
            (
                "ecs:RunTask",
                ["<RetrainTask>"],
                {"ArnEquals": {"ecs:cluster": "<RetrainCluster.Arn>"}},
            ),
            (
                "iam:PassRole",
                ["<RetrainTaskRole.Arn>", "<RetrainExecutionRole.Arn>"],
                {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            ),
            ("sqs:SendMessage", ["<RetrainDeadLetters.Arn>"]),
        ],
        "LaunchersSending": [
            ("events:PutEvents", ["<IngestBus.Arn>"]),
            (
                "lambda:InvokeFunctionUrl",
                ["<RankFunction.Arn>"],
                {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}},
            ),
            (
                "lambda:InvokeFunction",
                ["<RankFunction.Arn>"],
                {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}},
            ),
        ],
        "LaunchersRanking": [
            *reading(stage),
            ("ssm:GetParameter", [f"{start}/leap/{stage}/store"]),
        ],
    }


def test_every_identity_may_do_this_and_no_more(template: Template) -> None:
    found = {}
    for identity in template.identities():
        statements = template.statements(identity)
        assert all(statement["Effect"] == "Allow" for statement in statements)
        found[identity] = [
            (
                statement["Action"],
                [_named(resource) for resource in listed(statement["Resource"])],
                *([statement["Condition"]] if "Condition" in statement else []),
            )
            for statement in statements
        ]
    assert found == expected(template.stage)


def _named(resource: str) -> str:
    asset = r"arn:<AWS::Partition>:s3:::cdk-\w+-assets-\S+/[0-9a-f]{64}\.zip"
    return "<the task's own code>" if re.fullmatch(asset, resource) else resource


def test_no_permission_is_given_by_a_managed_policy_of_aws(template: Template) -> None:
    for role in template.resources("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role["Properties"]
    assert not template.resources("AWS::IAM::User")
    assert not template.resources("AWS::IAM::Group")


def test_no_action_is_a_wildcard_and_no_resource_is_everything(template: Template) -> None:
    assert wildcards(template) == []


def test_a_wildcard_that_is_planted_is_found(prod: Template) -> None:
    wide = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    planted = {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "Roles": [{"Ref": "RankRoleB9A9CAD8"}],
            "PolicyDocument": {"Statement": [wide]},
        },
    }
    body = {**prod.body, "Resources": {**prod.body["Resources"], "Planted12345678": planted}}
    assert wildcards(Template(prod.stage, body, prod.manifest)) == [("RankRole", "s3:*", "*")]


def wildcards(template: Template) -> list[tuple[str, Any, Any]]:
    """Statements of wildcard actions, or on everything."""
    return [
        (identity, statement["Action"], statement["Resource"])
        for identity in template.identities()
        for statement in template.statements(identity)
        if any("*" in action for action in listed(statement["Action"]))
        or any(resource.strip("*") == "" for resource in listed(statement["Resource"]))
        or {"NotAction", "NotResource"} & statement.keys()
    ]


@pytest.mark.parametrize("folder", ["models", "reports", "pointers"])
def test_the_nightly_run_alone_writes_what_is_served(template: Template, folder: str) -> None:
    writers = {
        identity
        for identity in template.identities()
        for statement in template.statements(identity)
        if any(re.match(r"s3:(Put|Delete|Restore)", one) for one in listed(statement["Action"]))
        and any(f"/{folder}/" in resource for resource in listed(statement["Resource"]))
    }
    assert writers == {"RetrainTaskRole"}


def test_nobody_deletes_objects_or_parameters(template: Template) -> None:
    for identity in template.identities():
        for statement in template.statements(identity):
            assert not [
                one
                for one in listed(statement["Action"])
                if "Delete" in one.split(":")[1] and not one.startswith("sqs:")
            ]


def test_the_nightly_run_leaves_switches_alone(template: Template) -> None:
    for statement in template.statements("RetrainTaskRole"):
        assert not [one for one in listed(statement["Resource"]) if "switches" in one]
        assert f"{STORE}/pointers/{template.stage}/*" not in listed(statement["Resource"])


TRUST = {
    "IngestRole": ("lambda.amazonaws.com", False),
    "RankRole": ("lambda.amazonaws.com", False),
    "RetrainTaskRole": ("ecs-tasks.amazonaws.com", True),
    "RetrainExecutionRole": ("ecs-tasks.amazonaws.com", False),
    "RetrainScheduleRole": ("scheduler.amazonaws.com", True),
}


def test_each_role_is_taken_by_its_one_service(template: Template) -> None:
    found = {}
    for name, role in template.resources("AWS::IAM::Role").items():
        (statement,) = template.plain(role["Properties"]["AssumeRolePolicyDocument"]["Statement"])
        own = {"StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"}}
        guarded = statement.get("Condition") == own
        found[template.short(name)] = (statement["Principal"]["Service"], guarded)
    assert found == TRUST


def test_stages_know_nothing_of_each_other(dev: Template, prod: Template) -> None:
    for template, other in ((dev, "prod"), (prod, "dev")):
        assert f"leap-{other}" not in str(template.body)
        assert f"/{other}/" not in str(template.body)
