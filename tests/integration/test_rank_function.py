"""The rank function over a deployed stage: models in S3, pointer in SSM, records to the bus."""

import json
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.ingest.rankings import parse_ranking
from functions.rank.handler import Handler, handler_of
from functions.rank.service import RankService
from leap_model import Ranker
from leap_model.artifact import load, pack, publish
from leap_model.parameters import Parameters, pointer_parameter
from leap_model.pointer import Pointer, read_pointer
from leap_model.s3 import S3Store
from leap_model.store import LocalStore
from leap_model.switches import write_switches
from leap_model.times import now_us
from tests.support import preferred, request
from tests.unit.rank.calls import Context, answer_in, plain, posted, unnamed

BUCKET, STAGE, REGION = "fleet", "prod", "eu-west-1"
SOON_S = 20.0


@dataclass
class Stage:
    """A deployed stage, and what it points at."""

    store: S3Store
    pointer: Pointer

    def point(self, pointer: Pointer) -> None:
        text = json.dumps(pointer.to_json())
        Parameters().write(pointer_parameter(STAGE, "throughput"), text)
        self.pointer = pointer

    def publish(self, as_of: str) -> Pointer:
        """The same model as another version."""
        artifact = load(self.store.folder(self.pointer.uri))
        packed = pack(replace(artifact, training={**artifact.training, "as_of": as_of}))
        uri = f"models/throughput/{packed.version}"
        publish(self.store, uri, packed)
        return replace(
            self.pointer,
            version=packed.version,
            uri=uri,
            manifest_sha256=packed.manifest_sha256,
            as_of=as_of,
        )


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """moto for AWS, and a temporary folder of one's own, as an instance of a function has."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with mock_aws():
        yield


@pytest.fixture
def stage(trained: LocalStore) -> Stage:
    """A stage that serves the small fleet's model to everyone."""
    location = {"LocationConstraint": REGION}
    boto3.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location)
    store = S3Store(BUCKET, "leap")
    for key in trained.keys("models"):
        content = trained.read(key)
        assert content is not None
        store.create(key, content)
    pointer, _ = read_pointer(trained, "local", "throughput")
    assert pointer is not None
    write_switches(store, STAGE, 100.0, {})
    made = Stage(store, pointer)
    made.point(pointer)
    return made


def _handler(**environment: str) -> Handler:
    known = {"LEAP_STORE": f"s3://{BUCKET}/leap", "LEAP_STAGE": STAGE, **environment}
    return handler_of(RankService.of(known))


def _version(handle: Handler) -> Any:
    return plain(handle(request(), Context()))["model_version"]


def _printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]


def test_a_deployed_stage_ranks_as_the_model_does_locally(
    stage: Stage, trained: LocalStore
) -> None:
    answer = answer_in(_handler()(posted(request()), Context()))
    assert unnamed(answer) == unnamed(Ranker.from_store(trained.root).rank(request()))
    assert preferred(answer)
    assert answer["model_version"] == stage.pointer.version


def test_a_new_version_serves_once_the_cache_time_is_over(stage: Stage) -> None:
    at_once, later = _handler(LEAP_CACHE_S="0"), _handler(LEAP_CACHE_S="3600")
    old = stage.pointer
    assert (_version(at_once), _version(later)) == (old.version, old.version)
    stage.point(stage.publish("2026-01-14"))
    assert stage.pointer.version != old.version
    assert (_version(at_once), _version(later)) == (stage.pointer.version, old.version)
    stage.point(old)
    assert (_version(at_once), _version(later)) == (old.version, old.version)


def test_a_version_that_does_not_load_leaves_the_last_good_one_and_is_counted(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    handle = _handler(LEAP_CACHE_S="0")
    good = stage.pointer
    assert _version(handle) == good.version
    stage.point(replace(stage.publish("2026-01-14"), manifest_sha256="0" * 64))
    capsys.readouterr()
    assert _version(handle) == good.version
    (line,) = _printed(capsys)
    assert (line["ModelLoadFailures"], line["EmptyPreferences"]) == ([1.0], [0.0])


def test_a_broken_version_is_not_fetched_with_every_call(stage: Stage) -> None:
    stage.point(replace(stage.pointer, uri="models/throughput/none"))
    handle = _handler(LEAP_CACHE_S="3600")
    fetched: list[str] = []
    real = S3Store.folder

    def folder(store: S3Store, prefix: str) -> Path:
        fetched.append(prefix)
        return real(store, prefix)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Store, "folder", folder)
        answers = [plain(handle(request(), Context())) for _ in range(5)]
    assert {answer["reason"] for answer in answers} == {"model_unavailable"}
    assert len(fetched) == 1


def test_a_stage_without_switches_ranks_nobody_and_says_which_model_it_has(stage: Stage) -> None:
    boto3.client("s3").delete_object(Bucket=BUCKET, Key=f"leap/pointers/{STAGE}/switches.json")
    answer = answer_in(_handler()(posted(request()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "switched_off")
    assert answer["model_version"] == stage.pointer.version


@pytest.mark.usefixtures("stage")
def test_another_stage_points_at_nothing() -> None:
    answer = answer_in(_handler(LEAP_STAGE="empty")(posted(request()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


def test_an_account_without_a_store_has_no_model() -> None:
    answer = answer_in(_handler()(posted(request()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


def test_an_aws_that_never_answers_is_an_empty_preference_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        answer = answer_in(_handler()(posted(request()), Context(waiting_s=0.5)))
        assert time.monotonic() - began < 10.0
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


@pytest.mark.usefixtures("stage")
def test_a_sampled_ranking_arrives_in_the_queue_as_the_ingest_function_takes_it() -> None:
    messages = _queue_behind_the_bus()
    handle = _handler(LEAP_BUS="leap-prod", LEAP_SAMPLE="1")
    document = request(candidates=["fast-8", "moon", {"hardware_type": "mid-8", "id": "spot"}])
    answer = answer_in(handle(posted(document), Context()))
    envelope = json.loads(_one(messages))
    assert (envelope["source"], envelope["detail-type"]) == ("leap.launcher", "Ranking Served")
    detail = envelope["detail"]
    assert (detail["request"], detail["answer"]) == (document, answer)
    assert (detail["features"]["ids"], len(detail["features"]["rows"])) == (["fast-8", "spot"], 2)
    stored = parse_ranking(detail, now_us())
    assert (stored.ranking_id, stored.model_version) == (
        answer["ranking_id"],
        answer["model_version"],
    )
    assert json.loads(stored.answer) == answer
    assert stored.features is not None


@pytest.mark.usefixtures("stage")
def test_a_bus_that_is_not_there_costs_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    handle = _handler(LEAP_BUS="nowhere", LEAP_SAMPLE="1")
    assert preferred(plain(handle(request(), Context())))
    deadline = time.monotonic() + SOON_S
    dropped = 0.0
    while not dropped:
        assert time.monotonic() < deadline
        handle(None, None)  # no ranking: it only prints what was counted meanwhile
        dropped = sum(sum(line.get("RecordsDropped", ())) for line in _printed(capsys))
    assert dropped == 1.0


def _queue_behind_the_bus() -> Any:
    """A queue to which the stage's rule sends what rankings were served."""
    events, sqs = boto3.client("events"), boto3.client("sqs")
    url = sqs.create_queue(QueueName="leap-prod-attempts")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    events.create_event_bus(Name="leap-prod")
    pattern = {"source": ["leap.launcher"], "detail-type": ["Ranking Served"]}
    events.put_rule(Name="rankings", EventBusName="leap-prod", EventPattern=json.dumps(pattern))
    target = {"Id": "queue", "Arn": attributes["Attributes"]["QueueArn"]}
    events.put_targets(Rule="rankings", EventBusName="leap-prod", Targets=[target])
    return lambda: sqs.receive_message(QueueUrl=url).get("Messages", [])


def _one(messages: Any) -> str:
    """The body of the one message that comes."""
    deadline = time.monotonic() + SOON_S
    while not (found := messages()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (message,) = found
    return str(message["Body"])
