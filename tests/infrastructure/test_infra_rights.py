"""Each part does its work with the rights that the template gives it, and cannot do another's."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from functions.ingest.batch import take_batch
from functions.rank.bus import Bus
from functions.retrain.deployed import run
from functions.retrain.environment import Environment
from leap_model import Ranker
from leap_model.aws import client
from leap_model.errors import LeapError, StoreError
from leap_model.parameters import Parameters, pointer_parameter, store_parameter
from leap_model.pointer import pointer_key
from leap_model.s3 import SUPERSEDED, S3Store
from leap_model.store import Store
from leap_model.stored_catalogue import KEY
from leap_model.switches import switches_key, write_switches
from tests.aws import account, copied, train_quickly
from tests.infrastructure.iam import BUCKET, REGION, Role, acting_as
from tests.infrastructure.templates import Template
from tests.support import attempt, filled, fleet, preferred, request
from tests.unit.ingest.deliveries import NOW, envelope, sent

STAGE = "dev"


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with account(monkeypatch, BUCKET, REGION):
        yield


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    train_quickly(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> S3Store:
    """The stage's store, with fifteen days of attempts, as whoever set it up sees it."""
    local = filled(tmp_path / "local", fleet(1100, days=15))
    return copied(local, S3Store(BUCKET, cache=tmp_path / "cache"))


def night(store: Store, day: int) -> None:
    """One run, as the task is told."""
    told = {
        "LEAP_STORE": f"s3://{BUCKET}",
        "LEAP_STAGE": STAGE,
        "LEAP_SCHEDULED_TIME": f"2026-01-{day}T02:00:00Z",
    }
    (metrics,) = run(Environment.of(told), store, Parameters())
    assert metrics["pointed"], metrics["reason"]


def test_the_ingest_function_stores_what_arrives(dev: Template, tmp_path: Path) -> None:
    bodies = [envelope(attempt()), "no json", envelope(attempt(throughput="none"))]
    messages = [sent(body, f"m{at}") for at, body in enumerate(bodies)]
    with acting_as(Role.of(dev, "IngestRole")) as role:
        outcome = take_batch(S3Store(BUCKET, cache=tmp_path), messages, NOW)
        again = take_batch(S3Store(BUCKET, cache=tmp_path), messages, NOW)
    assert (role.refused, outcome.failed(), again.failed()) == ([], [], [])
    assert (outcome.counts.stored, outcome.counts.rejected) == (1, 2)
    assert role.used == {"s3:PutObject"}


def test_the_nightly_run_does_all_its_work_from_the_first_night_on(
    dev: Template, store: S3Store
) -> None:
    with acting_as(Role.of(dev, "RetrainTaskRole")) as role:
        for day in (13, 14, 15):
            night(store, day)
    assert role.refused == []
    assert role.used == {
        *("s3:GetObject", "s3:PutObject", "s3:ListBucket"),
        *("s3:GetObjectTagging", "s3:PutObjectTagging"),
        *("ssm:GetParameter", "ssm:PutParameter"),
    }
    versions = sorted({key.split("/")[2] for key in store.keys("models/throughput")})
    tags = [_tags(store, f"models/throughput/{version}/manifest.json") for version in versions]
    assert tags == [{SUPERSEDED: "true"}, {}, {}]


def _tags(store: S3Store, key: str) -> dict[str, str]:
    found = boto3.client("s3").get_object_tagging(Bucket=store.bucket, Key=key)["TagSet"]
    return {tag["Key"]: tag["Value"] for tag in found}


def test_the_rank_function_ranks_and_says_so(dev: Template, store: S3Store) -> None:
    night(store, 13)
    write_switches(store, STAGE, 100, {})
    boto3.client("events").create_event_bus(Name="leap-dev")
    with acting_as(Role.of(dev, "RankRole")) as role:
        ranker = Ranker.from_aws(STAGE, store_uri=f"s3://{BUCKET}")
        assert preferred(ranker.rank(request()))
        assert Bus("leap-dev", client("events")).send(['{"ranking_id": "r"}']) == 0
    assert role.refused == []
    assert role.used == {"s3:GetObject", "ssm:GetParameter", "events:PutEvents"}


def test_a_launcher_ranks_in_its_own_process(dev: Template, store: S3Store) -> None:
    night(store, 13)
    write_switches(store, STAGE, 100, {})
    Parameters().write(store_parameter(STAGE), f"s3://{BUCKET}")
    with acting_as(Role.of(dev, "LaunchersRanking")) as role:
        assert preferred(Ranker.from_aws(STAGE).rank(request()))
    assert role.refused == []


def test_without_switches_a_ranker_that_may_not_list_ranks_nobody(
    dev: Template, store: S3Store
) -> None:
    night(store, 13)
    with acting_as(Role.of(dev, "RankRole")):
        answer = Ranker.from_aws(STAGE, store_uri=f"s3://{BUCKET}").rank(request())
    assert (answer["preference"], answer["reason"]) == ([], "switched_off")


@pytest.mark.parametrize(
    ("identity", "key"),
    [
        ("RankRole", "models/throughput/x/manifest.json"),
        ("RankRole", "pointers/dev/throughput.json"),
        ("RankRole", "attempts/dt=2026-01-02/x.parquet"),
        ("IngestRole", "models/throughput/x/manifest.json"),
        ("IngestRole", "pointers/dev/switches.json"),
        ("IngestRole", KEY),
        ("RetrainTaskRole", "attempts/dt=2026-01-02/x.parquet"),
        ("RetrainTaskRole", "pointers/dev/switches.json"),
        ("RetrainTaskRole", "pointers/prod/throughput.json"),
        ("RetrainTaskRole", KEY),
    ],
)
def test_nobody_writes_what_another_part_answers_for(
    dev: Template, store: S3Store, identity: str, key: str
) -> None:
    with acting_as(Role.of(dev, identity)), pytest.raises(StoreError, match="AccessDenied"):
        store.create(key, b"x")


@pytest.mark.parametrize("identity", ["RankRole", "IngestRole", "LaunchersRanking"])
def test_nobody_but_the_nightly_run_moves_a_pointer_or_reads_attempts(
    dev: Template, store: S3Store, identity: str
) -> None:
    key = store.keys("attempts")[0]
    with acting_as(Role.of(dev, identity)):
        for call in (
            lambda: Parameters().write("/leap/dev/throughput/pointer", "{}"),
            lambda: store.read(key),
            lambda: store.keys("attempts"),
        ):
            with pytest.raises(LeapError, match="AccessDenied"):
                call()


@pytest.mark.parametrize(
    "key",
    [
        switches_key("prod"),
        pointer_key("prod", "throughput"),
        "pointers/dev/throughput.moves/00000001.json",
    ],
)
@pytest.mark.parametrize("identity", ["RankRole", "LaunchersRanking"])
def test_a_ranker_reads_no_other_stage_and_no_record_of_a_move(
    dev: Template, store: S3Store, identity: str, key: str
) -> None:
    store.create(key, b"{}")
    with acting_as(Role.of(dev, identity)), pytest.raises(StoreError, match="AccessDenied"):
        store.read(key)


def test_a_ranker_may_tell_that_the_parameter_was_set_back(dev: Template, store: S3Store) -> None:
    night(store, 13)
    older = Parameters().read(pointer_parameter(STAGE, "throughput"))
    night(store, 14)
    Parameters().write(pointer_parameter(STAGE, "throughput"), older or "")
    with acting_as(Role.of(dev, "RankRole")) as role:
        answer = Ranker.from_aws(STAGE, store_uri=f"s3://{BUCKET}").rank(request())
    assert answer["model_version"].startswith("2026-01-14-")
    assert [one for one in role.refused if "switches" not in one] == []
