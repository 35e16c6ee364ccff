"""What an operator does to a deployed stage takes effect in time, and outlives a deployment."""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.local_aws.deploy import Deployment
from leap_model.moves import move_pointer
from leap_model.parameters import Parameters, deployed_pointer, follow_pointer, pointer_parameter
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import overwrite
from leap_model.switches import switches_key
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.handling import Asking, Reply, kept_clean, next_version, told, until
from tests.support import request
from tests.unit.cli.commands import document

FUNCTION = f"leap-{STAGE}-rank"
PARAMETER = pointer_parameter(STAGE, "throughput")
CACHE_S = 3.0
ANSWERED_S = 3.0
"""For the answers themselves, and a version that is fetched beside them."""
TAKEN_UP_S = 30.0


@dataclass(frozen=True)
class Operated:
    """A stage after two nights."""

    stage: Stage
    ask: Asking
    first: Pointer
    second: Pointer

    def command(self, *arguments: object) -> Any:
        """What a command of `leap` says of the stage."""
        where = ("--store", str(self.stage.store), "--stage", STAGE)
        return document(*arguments, *where)

    def reply(self, **job: Any) -> Reply:
        """What the function answers."""
        asked = request()
        return self.ask({**asked, "job": {**asked["job"], **job}})

    def reason(self, **job: Any) -> Any:
        """Why it answers with an empty list, None where it does not."""
        return self.reply(**job).answer["reason"]


def state_of(stage: Stage) -> dict[str, bytes]:
    """Every object that operating the stage changes, by key."""
    keys = [key for key in stage.store.keys("pointers") if f"/{STAGE}/" in key]
    return {key: stage.store.read(key) or b"" for key in keys}


@pytest.fixture(scope="module")
def operated(trained: tuple[Stage, list[str]]) -> Iterator[Operated]:
    """The function serves the second of two nights, and looks for newer ones every few seconds."""
    stage, _ = trained
    before = state_of(stage)
    clean = kept_clean(stage.outputs["BucketName"], "models/", f"pointers/{STAGE}/")
    with clean, told(FUNCTION, LEAP_CACHE_S=str(CACHE_S), LEAP_SAMPLE="0"):
        first, tag = read_pointer(stage.store, STAGE, "throughput")
        assert first is not None
        second, _ = next_version(stage.store, first)
        move_pointer(stage.store, STAGE, "throughput", "publish", second, first, tag)
        follow_pointer(Parameters(), stage.store, STAGE, "throughput")
        operated = Operated(stage, Asking(stage), first, second)
        assert until(lambda: operated.reply().version == second.version, TAKEN_UP_S)
        yield operated
        for key, content in before.items():
            overwrite(stage.store, key, content)
    follow_pointer(Parameters(), stage.store, STAGE, "throughput")


def _in_time(condition: Any) -> bool:
    """Whether it comes true within the cache time, give or take an answer."""
    started = time.monotonic()
    return until(condition, TAKEN_UP_S) and time.monotonic() - started < CACHE_S + ANSWERED_S


def test_switches_take_effect_within_the_cache_time(operated: Operated) -> None:
    assert operated.reason() is None
    operated.command("switches", "set", "--model-type", "bert=0")
    assert _in_time(lambda: operated.reason() == "switched_off")
    assert operated.reason(model_type="resnet") != "switched_off"
    operated.command("switches", "set", "--default", 0, "--unset", "bert")
    assert _in_time(lambda: operated.reason(model_type="resnet") == "switched_off")
    assert operated.reason() == "switched_off"
    operated.command("switches", "set", "--default", 100)
    assert _in_time(lambda: operated.reason() is None)


def test_a_rollback_takes_effect_within_the_cache_time(operated: Operated) -> None:
    assert operated.reply().version == operated.second.version
    move = operated.command("pointer", "rollback")
    assert move["pointer"]["version"] == operated.first.version
    assert _in_time(lambda: operated.reply().version == operated.first.version)
    deployed = deployed_pointer(Parameters(), STAGE, "throughput")
    assert deployed == read_pointer(operated.stage.store, STAGE, "throughput")[0]


def test_a_deployment_changes_neither_pointer_nor_switches(operated: Operated) -> None:
    operated.command("switches", "set", "--model-type", "resnet=0")
    before, followed = state_of(operated.stage), Parameters().read(PARAMETER)
    assert json.loads(before[switches_key(STAGE)])["model_types"] == {"resnet": {"percent": 0}}
    said = "Ranks hardware types for a job, said otherwise"
    _describe(operated.stage.folder / "cdk.out", said)
    Deployment(operated.stage.aws, STAGE, operated.stage.folder).deploy(lambda line: None)
    configuration = boto3.client("lambda").get_function_configuration(FunctionName=FUNCTION)
    assert configuration["Description"] == said
    assert state_of(operated.stage) == before
    assert Parameters().read(PARAMETER) == followed
    assert until(lambda: operated.reply().version == operated.first.version, TAKEN_UP_S)
    assert operated.reason(model_type="resnet") == "switched_off"


def _describe(assembly: Path, description: str) -> None:
    """Change the function's description in a template that was synthesised, and nothing else.

    A template is uploaded under the digest of its content, which two more files of the assembly
    state: they are told the new one.
    """
    path = assembly / f"leap-{STAGE}.template.json"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    template = json.loads(path.read_bytes())
    (function,) = (
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
        and resource["Properties"].get("FunctionName") == FUNCTION
    )
    function["Description"] = description
    path.write_text(json.dumps(template, indent=1))
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    assert after != before
    for name in ("manifest.json", f"leap-{STAGE}.assets.json"):
        told_of = assembly / name
        assert before in told_of.read_text()
        told_of.write_text(told_of.read_text().replace(before, after))
