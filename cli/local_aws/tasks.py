"""Runs the Fargate tasks that a local AWS records, as this machine can: in a process each.

The server keeps a record of every task that RunTask starts and runs none. Here the recorded
command runs with the recorded environment, on a bare interpreter in place of the task's image.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.local_aws.environment import aws_variables
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.paths import INTERPRETER
from cli.local_aws.process import Process
from cli.local_aws.roles import taken
from cli.local_aws.server import LocalAws
from leap_model.aws import client

_LOOK_S: Final = 0.5
_RECORDED_S: Final = 30.0
"""Until a task that was started must be on record."""
_KEPT: Final = ("PATH", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class Task:
    """A recorded task: what its one container runs, the variables it is given, and its role."""

    arn: str
    role: str
    command: tuple[str, ...]
    environment: Mapping[str, str]


class TaskRunner:
    """Runs a cluster's recorded tasks, one after the other, each once.

    Parameters
    ----------
    aws : LocalAws
        Whose tasks.
    cluster : str
        Its name or ARN.
    folder : Path
        Where each task's log goes.
    """

    def __init__(self, aws: LocalAws, cluster: str, folder: Path) -> None:
        self._aws = aws
        self._cluster = cluster
        self._folder = folder
        self._ecs = client("ecs")
        self._seen: set[str] = set()

    def run_next(self, watch: Callable[[str], None] = lambda line: None) -> None:
        """Wait for a task that has not run, run it, and say on record how it ended.

        Parameters
        ----------
        watch : callable, optional
            Told each line that the task says.

        Raises
        ------
        LocalAwsError
            None was recorded, or it ended with another exit code than 0.
        """
        task = self._next()
        self._seen.add(task.arn)
        log = self._folder / f"task-{len(self._seen)}.log"
        with self._started(task, log) as process:
            code = process.follow(watch)
        reason = f"the container ended with exit code {code}"
        self._ecs.stop_task(cluster=self._cluster, task=task.arn, reason=reason)
        with log.open("a", encoding="utf-8") as kept:
            kept.write(f"{task.arn}: {reason}\n")
        if code != 0:
            raise LocalAwsError(f"{reason}:\n{process.said()}")

    def _next(self) -> Task:
        deadline = time.monotonic() + _RECORDED_S
        while time.monotonic() < deadline:
            for arn in self._ecs.list_tasks(cluster=self._cluster)["taskArns"]:
                if arn not in self._seen:
                    return self._described(arn)
            time.sleep(_LOOK_S)
        raise LocalAwsError(f"no task was started in {self._cluster} within {_RECORDED_S:g} s")

    def _described(self, arn: str) -> Task:
        (task,) = self._ecs.describe_tasks(cluster=self._cluster, tasks=[arn])["tasks"]
        definition = self._ecs.describe_task_definition(taskDefinition=task["taskDefinitionArn"])
        overrides = task["overrides"].get("containerOverrides", ())
        return task_of(arn, definition["taskDefinition"], overrides)

    def _started(self, task: Task, log: Path) -> Process:
        # The task's code is unpacked there, as in the container's own file system.
        place = Path(tempfile.mkdtemp(prefix="leap-task-"))
        environment = {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            **aws_variables(self._aws),
            **taken(task.role),  # in AWS, ECS hands them to the container
            "SSL_CERT_FILE": str(self._aws.certificate),
            **task.environment,
            "TMPDIR": str(place),
            "HOME": str(place),
        }
        program, *arguments = task.command
        program = str(INTERPRETER) if program == "python" else program
        return Process([program, *arguments], environment, log, place, remove=place)


def task_of(
    arn: str, definition: Mapping[str, Any], overrides: Sequence[Mapping[str, Any]]
) -> Task:
    """A task from its definition and the overrides that it was started with."""
    (container,) = definition["containerDefinitions"]
    changed = next((entry for entry in overrides if entry["name"] == container["name"]), {})
    variables = [*container.get("environment", ()), *changed.get("environment", ())]
    command = [*container.get("entryPoint", ()), *(changed.get("command") or container["command"])]
    return Task(
        arn,
        definition["taskRoleArn"],
        tuple(command),
        {entry["name"]: entry["value"] for entry in variables},
    )
