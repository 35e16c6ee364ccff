"""leap doctor over a deployed stage, on moto: a sound one, and each planted problem."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leap_model import aws
from leap_model.aws import client
from leap_model.s3 import SUPERSEDED
from leap_model.store import LocalStore
from tests.unit.cli.commands import run
from tests.unit.cli.doctoring import (
    BUCKET,
    PARAMETER,
    POINTER,
    REGION,
    ROOT,
    STAGE,
    Deployed,
    Plant,
    Policies,
    examined,
    found,
    made,
    replaced,
    sound_stage,
)

CALLER = "arn:aws:sts::123456789012:user/moto"


@pytest.fixture
def deployed(
    trained: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployed]:
    """A sound stage."""
    with sound_stage(trained, tmp_path, monkeypatch) as stage:
        yield stage


def _pointing(stage: Deployed, **values: str) -> None:
    """The parameter tells something else than the object."""
    told = json.loads(stage.store.read(POINTER) or b"") | values
    stage.parameter(PARAMETER, json.dumps(told))


def _pointer(stage: Deployed) -> dict[str, str]:
    told: dict[str, str] = json.loads(stage.store.read(POINTER) or b"")
    return told


def _delete(stage: Deployed, key: str) -> None:
    made("s3").delete_object(Bucket=BUCKET, Key=key)


def _tag(stage: Deployed, name: str) -> None:
    made("s3").put_object_tagging(
        Bucket=BUCKET,
        Key=f"{_pointer(stage)['uri']}/{name}",
        Tagging={"TagSet": [{"Key": SUPERSEDED, "Value": "true"}]},
    )


def _alter(stage: Deployed) -> None:
    key = f"{_pointer(stage)['uri']}/model.json"
    replaced(stage.store, key, (stage.store.read(key) or b"") + b" ")


def _without_queue(stage: Deployed, name: str) -> None:
    url = stage.sqs.get_queue_url(QueueName=f"leap-{STAGE}-{name}")["QueueUrl"]
    stage.sqs.delete_queue(QueueUrl=url)


def _without_stack(stage: Deployed) -> None:
    stage.stacks.outputs = None
    stage.others["iam"] = Policies(set())  # only the stack knows of the function URL here


def _without_alarms(stage: Deployed) -> None:
    stage.cloudwatch.delete_alarms(AlarmNames=[f"leap-{STAGE}-w20-low"])


def _refused_url(stage: Deployed, status: int) -> None:
    stage.url.status = status


PLANTED: dict[str, tuple[Plant, str, str]] = {
    "stack rolled back": (
        lambda s: setattr(s.stacks, "status", "UPDATE_ROLLBACK_COMPLETE"),
        "stack",
        "leap-prod is UPDATE_ROLLBACK_COMPLETE",
    ),
    "stack missing": (
        _without_stack,
        "stack",
        f"CloudFormation has no stack leap-prod in {REGION}",
    ),
    "store parameter missing": (
        lambda s: s.ssm.delete_parameter(Name="/leap/prod/store"),
        "parameters",
        "/leap/prod/store is not there, in eu-west-1 of account 123456789012",
    ),
    "store parameter broken": (
        lambda s: s.parameter("/leap/prod/store", "fleet"),
        "parameters",
        "/leap/prod/store is fleet",
    ),
    "pointer parameter missing": (
        lambda s: s.ssm.delete_parameter(Name=PARAMETER),
        "pointer of throughput",
        f"{PARAMETER} is missing, and {POINTER} names 2026-01-13-",
    ),
    "pointer parameter broken": (
        lambda s: s.parameter(PARAMETER, "{}"),
        "pointer of throughput",
        f"{PARAMETER} is broken",
    ),
    "pointer object missing": (
        lambda s: _delete(s, POINTER),
        "pointer of throughput",
        f"{POINTER} is missing, and {PARAMETER} names 2026-01-13-",
    ),
    "pointers tell one version differently": (
        lambda s: _pointing(s, published_at="2026-01-13T05:00:00Z"),
        "pointer of throughput",
        "differently",
    ),
    "version incomplete": (
        lambda s: _delete(s, f"{_pointer(s)['uri']}/model.json"),
        "throughput model",
        "model.json is not there",
    ),
    "version absent": (
        lambda s: _delete(s, f"{_pointer(s)['uri']}/manifest.json"),
        "throughput model",
        "has no manifest: it was never completed",
    ),
    "file altered": (
        _alter,
        "throughput model",
        "model.json is not of the size that its manifest states",
    ),
    "live version superseded": (
        lambda s: _tag(s, "manifest.json"),
        "expiry of the throughput model",
        "are tagged as superseded, such as manifest.json",
    ),
    "live version partly superseded": (
        lambda s: _tag(s, "model.json"),
        "expiry of the throughput model",
        "tagged as superseded, such as model.json",
    ),
    "dead letters": (
        lambda s: s.send("attempts-dlq", 3),
        "dead letters",
        "3 messages in leap-prod-attempts-dlq",
    ),
    "dead letters' queue missing": (
        lambda s: _without_queue(s, "attempts-dlq"),
        "dead letters",
        "leap-prod-attempts-dlq is not there",
    ),
    "nightly dead letters": (
        lambda s: s.send("nightly-dlq", 1),
        "nightly dead letters",
        "1 messages in leap-prod-nightly-dlq",
    ),
    "queue old": (
        lambda s: s.waited(5_400.0),
        "queue",
        "the oldest message of leap-prod-attempts has waited 1.5 h",
    ),
    "function missing": (
        lambda s: s.lambda_.delete_function(FunctionName="leap-prod-rank"),
        "function leap-prod-rank",
        "leap-prod-rank is not there",
    ),
    "rank told another store": (
        lambda s: s.function("rank", LEAP_STORE="s3://elsewhere"),
        "function leap-prod-rank",
        "LEAP_STORE of leap-prod-rank is s3://elsewhere",
    ),
    "ingest told another stage": (
        lambda s: s.function("ingest", LEAP_STAGE="dev"),
        "function leap-prod-ingest",
        "LEAP_STAGE of leap-prod-ingest is dev",
    ),
    "mapping disabled": (
        lambda s: s.lambda_.update_event_source_mapping(UUID=s.mapping, Enabled=False),
        "event source mapping",
        "is Disabled",
    ),
    "mapping missing": (
        lambda s: s.lambda_.delete_event_source_mapping(UUID=s.mapping),
        "event source mapping",
        "there is no event source mapping",
    ),
    "schedule disabled": (
        lambda s: s.schedule("DISABLED"),
        "schedule",
        "leap-prod-nightly is DISABLED",
    ),
    "schedule missing": (
        lambda s: s.scheduler.delete_schedule(Name="leap-prod-nightly"),
        "schedule",
        "leap-prod-nightly is not there",
    ),
    "task told another store": (
        lambda s: s.schedule(LEAP_STORE="s3://elsewhere"),
        "schedule",
        "LEAP_STORE of the nightly task's retrain is s3://elsewhere",
    ),
    "alarm": (
        lambda s: s.alarm("w20-low", "ALARM"),
        "alarms",
        "leap-prod-w20-low is in ALARM (0.41 is below 0.5)",
    ),
    "alarms missing": (_without_alarms, "alarms", "no alarm is told to leap-prod-alarms"),
    "URL refuses": (
        lambda s: _refused_url(s, 403),
        "function URL",
        f"{CALLER} may not lambda:InvokeFunctionUrl and lambda:InvokeFunction on leap-prod-rank",
    ),
    "URL fails": (lambda s: _refused_url(s, 502), "function URL", "answers 502"),
}


def test_a_sound_stage_has_no_problem(deployed: Deployed) -> None:
    code, document = examined("--stage", STAGE)
    assert (document["problems"], document["unseen"], code) == ([], [], 0)
    assert (document["stage"], document["store"]) == (STAGE, ROOT)
    for check in ("clock", "stack", "parameters", "switches", "schedule", "function URL"):
        assert check in document["checked"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_problem_is_found_and_no_other(name: str, deployed: Deployed) -> None:
    plant, check, wrong = PLANTED[name]
    plant(deployed)
    code, document = examined("--stage", STAGE)
    ((where, said),) = found(document)
    assert (code, where, document["unseen"]) == (1, check, [])
    assert wrong in said


@pytest.mark.parametrize(
    ("moved", "looked_at"),
    [("2020-01-01T00:00:00Z", []), ("2040-01-01T00:00:00Z", ["throughput model"])],
)
def test_of_parameter_and_object_what_readers_go_by_is_looked_at(
    deployed: Deployed, moved: str, looked_at: list[str]
) -> None:
    named = {"version": "2026-01-10-x", "uri": "models/throughput/2026-01-10-x"}
    _pointing(deployed, **named, published_at=moved)
    _, document = examined("--stage", STAGE)
    pointer, *others = found(document)
    assert pointer[1].startswith(f"{PARAMETER} names 2026-01-10-x, {POINTER} 2026-01-13-")
    assert [check for check, _ in others] == looked_at


def test_a_backlog_is_found(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.doctor.queues.MOST_WAITING", 2)
    deployed.send("attempts", 3)
    _, document = examined("--stage", STAGE)
    assert found(document) == [("queue", "3 messages wait in leap-prod-attempts")]


def test_messages_that_wait_their_turn_are_no_problem(deployed: Deployed) -> None:
    deployed.send("attempts", 5)
    deployed.waited(3_000.0)
    assert examined("--stage", STAGE)[0] == 0


def test_alarms_of_another_stage_are_not_this_one_s(deployed: Deployed) -> None:
    deployed.alarm("w20-low", "ALARM", stage="prod-eu")
    assert examined("--stage", STAGE)[0] == 0


def test_a_stage_that_is_not_here_is_no_line_for_each_part(deployed: Deployed) -> None:
    deployed.stacks.outputs = None
    code, document = examined("--stage", "elsewhere")
    assert code == 1
    assert [check for check, _ in found(document)] == ["stack", "parameters"]


def test_a_bucket_that_is_gone_is_one_problem(deployed: Deployed) -> None:
    deployed.parameter("/leap/prod/store", "s3://gone")
    for name in ("ingest", "rank"):
        deployed.function(name, LEAP_STORE="s3://gone")
    deployed.schedule(LEAP_STORE="s3://gone")
    _, document = examined("--stage", STAGE)
    assert found(document) == [("store", "the bucket of s3://gone does not exist")]


def test_a_bucket_alone_can_be_looked_at(deployed: Deployed) -> None:
    deployed.send("attempts-dlq", 1)
    code, document = examined("--store", ROOT, "--stage", STAGE)
    assert (code, document["store"]) == (0, ROOT)
    assert "dead letters" not in document["checked"]
    _alter(deployed)
    assert [check for check, _ in found(examined("--store", ROOT, "--stage", STAGE)[1])] == [
        "throughput model"
    ]


def test_nothing_is_written(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(params: Any, model: Any, **_: Any) -> None:
        asked.append(model.name)

    def noting(service: str, budget: aws.Budget = aws.PATIENT) -> Any:
        if service in deployed.others:
            return deployed.others[service]
        fresh = client(service, budget)
        fresh.meta.events.register("before-call", note)
        return fresh

    monkeypatch.setattr("cli.doctor.account.client", noting)
    monkeypatch.setattr("leap_model.aws.client", noting)
    assert run("doctor", "--stage", STAGE).exit_code == 0
    assert {"GetParameter", "GetObject", "GetQueueAttributes", "DescribeAlarms"} <= set(asked)
    reading = ("Get", "List", "Describe", "Head", "Simulate")
    assert [name for name in asked if not name.startswith(reading)] == []
