"""The stack, deployed once to an AWS on this machine, for the tests that ask for it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.bus import Bus, Published
from cli.commands.publish import named_records
from cli.local_aws.arrivals import Arrivals
from cli.local_aws.deploy import Deployment
from cli.local_aws.environment import acting_as, talking_to
from cli.local_aws.roles import LauncherRole
from cli.local_aws.schedule import start_target
from cli.local_aws.server import LocalAws, local_aws
from cli.local_aws.tasks import TaskRunner
from leap_model.parameters import Parameters, pointer_parameter
from leap_model.pointer import pointer_key
from leap_model.s3 import S3Store
from leap_model.switches import write_switches
from tests.end_to_end.permissions import TABLE
from tests.support import CATALOGUE, fleet
from tests.unit.cli.commands import json_lines

STAGE = "e2e"
FLEET = fleet(900, days=12)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked, hence not run unless asked for."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What became of the stage without each of its rights, as docs/permissions.md has it."""
    if TABLE.rows:
        terminalreporter.section("rights of the deployed stage, each taken away by itself")
        for line in TABLE.lines():
            terminalreporter.write_line(line)


@dataclass(frozen=True)
class Stage:
    """A deployed stage, and a launcher that may use it."""

    aws: LocalAws
    outputs: Mapping[str, str]
    launcher: LauncherRole
    folder: Path

    @cached_property
    def store(self) -> S3Store:
        """Its store, as an operator reads it."""
        return S3Store(self.outputs["BucketName"], cache=self.folder / "cache")

    @cached_property
    def _tasks(self) -> TaskRunner:
        return TaskRunner(self.aws, f"leap-{STAGE}", self.folder)

    @property
    def url(self) -> str:
        """Where its function URL is asked."""
        return self.aws.reached(self.outputs["RankUrl"])

    def client(self, service: str, credentials: Mapping[str, str]) -> Any:
        """An AWS client with a role's credentials."""
        with acting_as(credentials):
            return boto3.Session().client(service)

    def publish(self, attempts: list[dict[str, Any]]) -> None:
        """Attempts on the bus, put there by the launcher."""
        file = json_lines(self.folder / "sent.jsonl", attempts)
        published = Published()
        events = self.client("events", self.launcher.credentials)
        Bus(self.outputs["BusName"], events).publish(named_records((file,)), published)
        assert published.sent == len(attempts), published.failures

    def night(self) -> list[str]:
        """What a nightly run said, started as the schedule starts it."""
        said: list[str] = []
        start_target(self.outputs["Schedule"])
        self._tasks.run_next(said.append)
        return said


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage without data, taken down at the end."""
    folder = tmp_path_factory.mktemp("stage")
    with local_aws(folder / "aws.log") as aws:
        stack = Deployment(aws, STAGE, folder)
        with talking_to(aws):
            boto3.setup_default_session()  # forgets the credentials of before
            stack.synthesise(lambda line: None)
            stack.bootstrap(lambda line: None)
            outputs = stack.deploy(lambda line: None)
            yield Stage(aws, outputs, LauncherRole("launcher", outputs["LauncherPolicy"]), folder)


@pytest.fixture(scope="session")
def filled(stage: Stage) -> Stage:
    """A stage that a fleet's attempts have arrived at, the first hundred sent twice."""
    stage.publish([*FLEET, *FLEET[:100]])
    Arrivals(stage.store).wait(len(FLEET))
    stage.store.create("catalogue/hardware.json", json.dumps(CATALOGUE).encode())
    write_switches(stage.store, STAGE, 100.0, {}, ())
    return stage


@pytest.fixture(scope="session")
def trained(filled: Stage) -> tuple[Stage, list[str]]:
    """A stage after its first night, and what that said."""
    return filled, filled.night()


@pytest.fixture
def both_targets(trained: tuple[Stage, list[str]]) -> Iterator[None]:
    """The stage points at a model of the other target, too; it is not there: each look says so."""
    store, name = trained[0].store, pointer_parameter(STAGE, "utilization")
    text = Parameters().read(pointer_parameter(STAGE, "throughput")) or ""
    text = text.replace("models/throughput/", "models/utilization/")
    key = pointer_key(STAGE, "utilization")
    assert store.create(key, text.encode())
    Parameters().write(name, text)
    yield
    boto3.client("ssm").delete_parameter(Name=name)
    boto3.client("s3").delete_object(Bucket=store.bucket, Key=key)
