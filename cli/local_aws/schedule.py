"""Starts a schedule's target now, as EventBridge Scheduler would.

The local AWS keeps schedules and fires those for queues and functions, but none that starts a
task. So the target is read back from the schedule and its RunTask call made word for word.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cli.local_aws.errors import LocalAwsError
from leap_model.aws import client


def start_target(schedule: str) -> str:
    """Run the task that a schedule is for, as if its time were now; the ARN of its cluster.

    Raises
    ------
    LocalAwsError
        AWS took the call and started nothing.
    """
    found = client("scheduler").get_schedule(Name=schedule)
    call = run_task_call(found["Target"], found["Arn"], datetime.now(UTC))
    answer = client("ecs").run_task(**call)
    if answer["failures"] or not answer["tasks"]:
        raise LocalAwsError(f"{schedule} started no task: {answer['failures']}")
    return str(call["cluster"])


def run_task_call(target: Mapping[str, Any], schedule: str, scheduled: datetime) -> dict[str, Any]:
    """The RunTask call that Scheduler makes of a target.

    Parameters
    ----------
    target : mapping
        As GetSchedule gives it.
    schedule : str
        The schedule's ARN.
    scheduled : datetime
        When it was to run, in UTC.
    """
    parameters = dict(target["EcsParameters"])
    said = {
        "<aws.scheduler.schedule-arn>": schedule,
        "<aws.scheduler.scheduled-time>": scheduled.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "<aws.scheduler.execution-id>": str(uuid.uuid4()),
        "<aws.scheduler.attempt-number>": "1",
    }
    text = target.get("Input") or "{}"
    for placeholder, value in said.items():
        text = text.replace(placeholder, value)
    return {
        "cluster": target["Arn"],
        "taskDefinition": parameters.pop("TaskDefinitionArn"),
        "count": parameters.pop("TaskCount", 1),
        "overrides": json.loads(text),
        **_lower(parameters),
    }


def _lower(value: Any) -> Any:
    """Names as ECS has them: Scheduler begins the same ones with a capital."""
    if isinstance(value, Mapping):
        return {name[0].lower() + name[1:]: _lower(entry) for name, entry in value.items()}
    return [_lower(entry) for entry in value] if isinstance(value, list) else value
