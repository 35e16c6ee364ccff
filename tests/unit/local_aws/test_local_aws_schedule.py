"""A schedule's target is started as EventBridge Scheduler would start it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.session import Session
from botocore.validate import validate_parameters

from cli.local_aws import schedule
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.schedule import run_task_call, start_target

NIGHT = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/leap-demo-nightly"
CLUSTER = "arn:aws:ecs:us-east-1:000000000000:cluster/leap-demo"
DEFINITION = "arn:aws:ecs:us-east-1:000000000000:task-definition/leap-demo-retrain:1"


def _input(value: str) -> str:
    told = {"name": "LEAP_SCHEDULED_TIME", "value": value}
    return json.dumps({"containerOverrides": [{"name": "retrain", "environment": [told]}]})


def _target(**changed: Any) -> dict[str, Any]:
    """A target as GetSchedule gives it."""
    return {
        "Arn": CLUSTER,
        "RoleArn": "arn:aws:iam::000000000000:role/starter",
        "Input": _input("<aws.scheduler.scheduled-time>"),
        "RetryPolicy": {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 3600},
        "EcsParameters": {
            "TaskDefinitionArn": DEFINITION,
            "TaskCount": 1,
            "LaunchType": "FARGATE",
            "NetworkConfiguration": {
                "awsvpcConfiguration": {
                    "Subnets": ["subnet-1", "subnet-2"],
                    "SecurityGroups": ["sg-1"],
                    "AssignPublicIp": "ENABLED",
                }
            },
        },
        **changed,
    }


def test_the_call_is_the_targets_own() -> None:
    call = run_task_call(_target(), SCHEDULE, NIGHT)
    assert call == {
        "cluster": CLUSTER,
        "taskDefinition": DEFINITION,
        "count": 1,
        "launchType": "FARGATE",
        "networkConfiguration": {
            "awsvpcConfiguration": {
                "subnets": ["subnet-1", "subnet-2"],
                "securityGroups": ["sg-1"],
                "assignPublicIp": "ENABLED",
            }
        },
        "overrides": json.loads(_input("2026-03-01T02:00:00Z")),
    }


def test_ecs_takes_the_call() -> None:
    shape = Session().get_service_model("ecs").operation_model("RunTask").input_shape
    assert shape is not None
    validate_parameters(run_task_call(_target(), SCHEDULE, NIGHT), shape)


def test_everything_that_scheduler_fills_in_is_filled_in() -> None:
    names = ("schedule-arn", "scheduled-time", "execution-id", "attempt-number")
    text = _input(" ".join(f"<aws.scheduler.{name}>" for name in names))
    call = run_task_call(_target(Input=text), SCHEDULE, NIGHT)
    (container,) = call["overrides"]["containerOverrides"]
    arn, time, identity, number = container["environment"][0]["value"].split()
    assert (arn, time, number) == (SCHEDULE, "2026-03-01T02:00:00Z", "1")
    assert len(identity) == 36


def test_a_target_without_input_overrides_nothing() -> None:
    target = _target()
    del target["Input"]
    assert run_task_call(target, SCHEDULE, NIGHT)["overrides"] == {}


class _Aws:
    """Scheduler and ECS at once."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.calls: list[dict[str, Any]] = []

    def get_schedule(self, Name: str) -> dict[str, Any]:  # noqa: N803
        assert Name == "leap-demo-nightly"
        return {"Arn": SCHEDULE, "Target": _target()}

    def run_task(self, **call: Any) -> dict[str, Any]:
        self.calls.append(call)
        return self.answer


def test_starting_it_gives_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = _Aws({"tasks": [{}], "failures": []})
    monkeypatch.setattr(schedule, "client", lambda service: aws)
    assert start_target("leap-demo-nightly") == CLUSTER
    assert [call["taskDefinition"] for call in aws.calls] == [DEFINITION]


@pytest.mark.parametrize("failures", [[], [{"reason": "RESOURCE:FARGATE"}]])
def test_a_call_that_starts_nothing_is_an_error(
    failures: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = _Aws({"tasks": [], "failures": failures})
    monkeypatch.setattr(schedule, "client", lambda service: aws)
    with pytest.raises(LocalAwsError, match="leap-demo-nightly started no task"):
        start_target("leap-demo-nightly")
