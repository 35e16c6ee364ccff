"""Nightly runs of a deployed stage, each in a process of its own that need not load its libraries.

What a task does after it has fetched its code, with the recorded task's variables and its role;
its estimator alone is a small one, since rights do not depend on that.
"""

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import boto3
import pytest

from cli.local_aws.environment import aws_variables
from cli.local_aws.server import LocalAws
from functions.retrain.__main__ import main
from tests.aws import train_quickly

_LONGEST_S = 120.0
_KEPT = ("PATH", "LANG", "LC_ALL")
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.end_to_end.lone_nights", "sklearn.ensemble"])


class Task:
    """A run under way, in a process of its own. One thread alone may begin tasks and await them.

    Parameters
    ----------
    variables : mapping
        All that it is told.
    log : Path
        What it prints.
    """

    def __init__(self, variables: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._process = _SERVER.Process(target=_become, args=(dict(variables), str(log)))
        self._process.start()

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def end(self) -> tuple[int, str]:
        """Its exit code, negative where a signal ended it, and what it printed."""
        self._process.join(_LONGEST_S)
        if self._process.exitcode is None:
            self.kill()
            raise AssertionError(f"no end after {_LONGEST_S:g} s:\n{self._log.read_text()}")
        return self._process.exitcode, self._log.read_text()

    def kill(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.join(_LONGEST_S)


@dataclass(frozen=True)
class Night:
    """How a run ended, and the documents that it printed, a line each."""

    code: int
    said: list[dict[str, str]]

    @property
    def errors(self) -> list[str]:
        """What it said was wrong."""
        return [line["error"] for line in self.said if "error" in line]


class LoneNights:
    """Runs nights of the task definition of a family.

    Parameters
    ----------
    aws : LocalAws
        Where.
    family : str
        Of the task definition.
    credentials : mapping
        The variables of its role's credentials.
    folder : Path
        For logs and temporary files.
    """

    def __init__(
        self, aws: LocalAws, family: str, credentials: Mapping[str, str], folder: Path
    ) -> None:
        ecs = boto3.client("ecs")
        task = ecs.describe_task_definition(taskDefinition=family)["taskDefinition"]
        (container,) = task["containerDefinitions"]
        self._folder = folder
        self._variables = {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            **aws_variables(aws),
            **credentials,
            **{entry["name"]: entry["value"] for entry in container["environment"]},
        }
        self._count = 0

    def run(self, as_of: date) -> Night:
        """The night of a date, with nothing left of the one before on its disk."""
        self._count += 1
        place = self._folder / f"night-{self._count}"
        place.mkdir()
        log = self._folder / f"night-{self._count}.log"
        told = {"LEAP_SCHEDULED_TIME": f"{as_of}T02:00:00Z", "TMPDIR": str(place)}
        code, text = Task(self._variables | told, log).end()
        try:
            return Night(code, [json.loads(line) for line in text.splitlines()])
        except ValueError:
            raise AssertionError(f"a line is no JSON in:\n{text}") from None


def _become(variables: Mapping[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # looked up anew
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    train_quickly(pytest.MonkeyPatch())
    sys.exit(main())
