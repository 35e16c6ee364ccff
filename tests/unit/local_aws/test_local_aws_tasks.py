"""A recorded task runs as it is recorded: same command, same variables, and no others."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.local_aws import tasks
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.server import LocalAws
from cli.local_aws.tasks import TaskRunner, task_of

AWS = LocalAws("https://127.0.0.1:40001", Path("/tmp/certificate.pem"), "secret")
ROLE = "arn:aws:iam::000000000000:role/task"
DUMP = "import json, os; print(json.dumps(dict(os.environ))); print(os.getcwd())"


def _definition(code: str, **changed: Any) -> dict[str, Any]:
    environment = [{"name": "LEAP_STAGE", "value": "demo"}, {"name": "LEAP_TARGETS", "value": "a"}]
    container = {
        "name": "retrain",
        "command": ["python", "-c", code],
        "environment": environment,
        **changed,
    }
    return {"taskRoleArn": ROLE, "containerDefinitions": [container]}


def _overrides(**changed: Any) -> list[dict[str, Any]]:
    told = {"name": "LEAP_SCHEDULED_TIME", "value": "2026-03-01T02:00:00Z"}
    return [{"name": "retrain", "environment": [told], **changed}]


class _Ecs:
    """An ECS that records tasks."""

    def __init__(self) -> None:
        self.recorded: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
        self.stopped: dict[str, str] = {}

    def list_tasks(self, cluster: str) -> dict[str, Any]:
        assert cluster == "leap-demo"
        return {"taskArns": [arn for arn in self.recorded if arn not in self.stopped]}

    def describe_tasks(self, cluster: str, tasks: list[str]) -> dict[str, Any]:
        (arn,) = tasks
        overrides = {"containerOverrides": self.recorded[arn][1]}
        return {"tasks": [{"taskDefinitionArn": arn, "overrides": overrides}]}

    def describe_task_definition(self, taskDefinition: str) -> dict[str, Any]:  # noqa: N803
        return {"taskDefinition": self.recorded[taskDefinition][0]}

    def stop_task(self, cluster: str, task: str, reason: str) -> None:
        self.stopped[task] = reason


@pytest.fixture
def ecs(monkeypatch: pytest.MonkeyPatch) -> _Ecs:
    """What the runner takes for ECS; the image's python is this one."""
    fake = _Ecs()
    monkeypatch.setattr(tasks, "client", lambda service: fake)
    monkeypatch.setattr(tasks, "taken", lambda role: {"AWS_ACCESS_KEY_ID": f"of {role}"})
    monkeypatch.setattr(tasks, "INTERPRETER", Path(sys.executable))
    monkeypatch.setattr(tasks, "_RECORDED_S", 0.3)
    return fake


@pytest.fixture
def runner(ecs: _Ecs, tmp_path: Path) -> TaskRunner:
    """A runner of an empty cluster."""
    return TaskRunner(AWS, "leap-demo", tmp_path)


def test_overrides_are_added_to_the_definition() -> None:
    task = task_of("arn", _definition("x"), _overrides())
    assert (task.arn, task.role) == ("arn", ROLE)
    assert task.command == ("python", "-c", "x")
    assert task.environment == {
        "LEAP_STAGE": "demo",
        "LEAP_TARGETS": "a",
        "LEAP_SCHEDULED_TIME": "2026-03-01T02:00:00Z",
    }


def test_an_override_replaces_a_value_and_a_command() -> None:
    told = [{"name": "LEAP_STAGE", "value": "other"}]
    overrides = _overrides(environment=told, command=["python", "-V"])
    task = task_of("arn", _definition("x", entryPoint=["nice"]), overrides)
    assert task.command == ("nice", "python", "-V")
    assert task.environment["LEAP_STAGE"] == "other"


def test_overrides_of_another_container_are_not_this_ones() -> None:
    overrides = [{"name": "sidecar", "command": ["x"]}, *_overrides()]
    assert task_of("arn", _definition("x"), overrides).command == ("python", "-c", "x")


def test_a_task_is_given_its_variables_and_the_local_aws_alone(
    ecs: _Ecs, runner: TaskRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "PYTHONPATH", "LEAP_STORE", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "mine")
    ecs.recorded["one"] = (_definition(DUMP), _overrides())
    lines: list[str] = []
    runner.run_next(lines.append)
    given = json.loads(lines[0])
    assert given["LEAP_STAGE"] == "demo"
    assert given["LEAP_SCHEDULED_TIME"] == "2026-03-01T02:00:00Z"
    assert given["AWS_ENDPOINT_URL"] == AWS.endpoint
    assert given["AWS_ACCESS_KEY_ID"] == f"of {ROLE}"
    assert "mine" not in given.values()
    assert "LEAP_STORE" not in given


def test_a_task_runs_in_a_folder_of_its_own_that_goes_with_it(
    ecs: _Ecs, runner: TaskRunner
) -> None:
    ecs.recorded["one"] = (_definition(DUMP), [])
    lines: list[str] = []
    runner.run_next(lines.append)
    assert json.loads(lines[0])["TMPDIR"] == lines[1]
    assert not Path(lines[1]).exists()


def test_the_end_of_a_task_is_on_record_and_in_its_log(
    ecs: _Ecs, runner: TaskRunner, tmp_path: Path
) -> None:
    ecs.recorded["one"] = (_definition("print('night')"), [])
    runner.run_next()
    assert ecs.stopped == {"one": "the container ended with exit code 0"}
    log = (tmp_path / "task-1.log").read_text().splitlines()
    assert log == ["night", "one: the container ended with exit code 0"]


def test_a_task_that_fails_is_an_error_that_quotes_it(ecs: _Ecs, runner: TaskRunner) -> None:
    ecs.recorded["one"] = (_definition("import sys; print('no data'); sys.exit(3)"), [])
    with pytest.raises(LocalAwsError, match=r"(?s)exit code 3:\nno data"):
        runner.run_next()
    assert ecs.stopped == {"one": "the container ended with exit code 3"}


def test_each_task_runs_once_in_turn(ecs: _Ecs, runner: TaskRunner) -> None:
    for name in ("one", "two"):
        ecs.recorded[name] = (_definition(f"print('{name}')"), [])
    lines: list[str] = []
    runner.run_next(lines.append)
    ecs.stopped.clear()  # even where the record still says that it runs
    runner.run_next(lines.append)
    assert lines == ["one", "two"]


def test_a_cluster_without_tasks_is_an_error(runner: TaskRunner) -> None:
    with pytest.raises(LocalAwsError, match="no task was started in leap-demo"):
        runner.run_next()
