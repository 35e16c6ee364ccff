"""The nightly run of a deployed stage, on moto's S3 and SSM."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import boto3
import pytest

from bench.clusters import cluster
from functions.retrain.deployed import release_superseded, run
from functions.retrain.environment import Environment
from functions.retrain.learning.presets import DEFAULT
from functions.retrain.settings import Settings
from leap_model import Ranker
from leap_model.errors import FieldError, StoreError, TrainingError
from leap_model.moves import roll_back
from leap_model.parameters import (
    MOST_BYTES,
    Parameters,
    deployed_pointer,
    follow_pointer,
    pointer_parameter,
    store_parameter,
)
from leap_model.pointer import read_pointer
from leap_model.s3 import SUPERSEDED, S3Store
from tests.aws import account, copied, train_quickly
from tests.support import attempt, checked, filled, fleet, request

VARIABLES = {
    "LEAP_STORE": "s3://fleet/leap",
    "LEAP_STAGE": "prod",
    "LEAP_SCHEDULED_TIME": "2026-01-13T02:00:00Z",
}


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with account(monkeypatch, "fleet", "eu-west-1"):
        yield


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    train_quickly(monkeypatch)


@pytest.fixture
def bucket(tmp_path: Path) -> S3Store:
    """A store in S3 with twelve days of attempts."""
    local = filled(tmp_path / "local", fleet(900, days=12))
    return copied(local, S3Store("fleet", "leap", cache=tmp_path / "cache"))


def night(day: int, **variables: str) -> Environment:
    scheduled = f"2026-01-{day:02}T02:00:00Z"
    return Environment.of(VARIABLES | {"LEAP_SCHEDULED_TIME": scheduled} | variables)


def test_a_night_publishes_and_the_parameter_follows_the_object(bucket: S3Store) -> None:
    parameters = Parameters()
    (metrics,) = run(night(13), bucket, parameters)
    assert (metrics["pointed"], metrics["as_of"]) == (True, "2026-01-13")
    pointer, _ = read_pointer(bucket, "prod", "throughput")
    assert pointer is not None
    assert pointer.version == metrics["version"]
    assert deployed_pointer(parameters, "prod", "throughput") == pointer
    assert len(parameters.read(pointer_parameter("prod", "throughput")) or "") < MOST_BYTES


def test_a_ranker_of_the_stage_answers_from_what_the_night_left(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (metrics,) = run(night(13), bucket, Parameters())
    bucket.create(
        "pointers/prod/switches.json", b'{"default": {"percent": 100}, "model_types": {}}'
    )
    Parameters().write(store_parameter("prod"), "s3://fleet/leap")
    answer = checked(Ranker.from_aws("prod").rank(request()))
    assert answer["model_version"] == metrics["version"]
    assert len(answer["preference"]) == 3


def test_a_ranker_goes_by_the_parameter_and_not_by_the_object(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run(night(13), bucket, Parameters())
    boto3.client("ssm").delete_parameter(Name=pointer_parameter("prod", "throughput"))
    answer = checked(Ranker.from_aws("prod", store_uri="s3://fleet/leap").rank(request()))
    assert answer["reason"] == "model_unavailable"


def test_a_night_that_is_delivered_twice_runs_once(bucket: S3Store) -> None:
    parameters = Parameters()
    run(night(13), bucket, parameters)
    before = {key: bucket.fetch(key)[1] for key in bucket.keys("models")}
    assert run(night(13), bucket, parameters) == []
    assert {key: bucket.fetch(key)[1] for key in bucket.keys("models")} == before


def test_a_run_that_ended_before_the_parameter_followed_is_made_good_by_the_next(
    bucket: S3Store,
) -> None:
    parameters = Parameters()
    run(night(13), bucket, parameters)
    parameters.write(pointer_parameter("prod", "throughput"), "{}")
    assert run(night(13), bucket, parameters) == []
    pointer, _ = read_pointer(bucket, "prod", "throughput")
    assert deployed_pointer(parameters, "prod", "throughput") == pointer


@pytest.mark.parametrize("fault", [StoreError("the disk is full"), SystemExit(143)])
def test_readers_follow_a_pointer_that_moved_whatever_fails_after_it(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def fail(*_: Any) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr("functions.retrain.nightly.write_reports", fail)
        with pytest.raises(type(fault)):
            run(night(13), bucket, Parameters())
    pointer, _ = read_pointer(bucket, "prod", "throughput")
    assert pointer is not None
    assert deployed_pointer(Parameters(), "prod", "throughput") == pointer
    # The next delivery of that night does what is left of it, and the one after nothing.
    (again,) = run(night(13), bucket, Parameters())
    assert again["version"] == pointer.version
    assert bucket.size(f"reports/throughput/{pointer.version}/report.html") is not None
    assert deployed_pointer(Parameters(), "prod", "throughput") == pointer
    assert run(night(13), bucket, Parameters()) == []


def test_an_older_night_that_ends_last_moves_nothing_back(bucket: S3Store) -> None:
    parameters = Parameters()
    run(night(13), bucket, parameters)
    (late,) = run(night(12), bucket, parameters)
    assert not late["pointed"]
    pointer = deployed_pointer(parameters, "prod", "throughput")
    assert pointer is not None
    assert pointer.as_of == "2026-01-13"


def test_a_rollback_is_followed_by_the_parameter(bucket: S3Store) -> None:
    parameters = Parameters()
    (first,) = run(night(12), bucket, parameters)
    run(night(13), bucket, parameters)
    roll_back(bucket, "prod", "throughput")
    follow_pointer(parameters, bucket, "prod", "throughput")
    pointer = deployed_pointer(parameters, "prod", "throughput")
    assert pointer is not None
    assert pointer.version == first["version"]


def test_a_test_run_points_at_nothing(bucket: S3Store) -> None:
    (metrics,) = run(night(13, LEAP_TEST_RUN="true"), bucket, Parameters())
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert deployed_pointer(Parameters(), "prod", "throughput") is None


def test_a_day_that_is_not_complete_stops_the_night(bucket: S3Store) -> None:
    lonely = filled(bucket._cache.parent / "one", [attempt(completed_at="2026-01-13T00:10:00Z")])
    for key in lonely.keys("attempts"):
        bucket.create(key, lonely.read(key) or b"")
    with pytest.raises(TrainingError, match="2026-01-13 has 1 attempts, where the days before"):
        run(night(14), bucket, Parameters())
    assert deployed_pointer(Parameters(), "prod", "throughput") is None


def _superseded(store: S3Store, version: str) -> set[bool]:
    s3 = boto3.client("s3")
    keys = [f"leap/{key}" for key in store.keys(f"models/throughput/{version}")]
    tags = [s3.get_object_tagging(Bucket="fleet", Key=key)["TagSet"] for key in keys]
    return {{"Key": SUPERSEDED, "Value": "true"} in tag for tag in tags}


def test_versions_may_expire_but_for_the_live_one_and_the_one_before(bucket: S3Store) -> None:
    parameters = Parameters()
    nights = [run(night(day), bucket, parameters)[0]["version"] for day in (10, 11, 12, 13)]
    assert [_superseded(bucket, version) for version in nights] == [
        {True},
        {True},
        {False},
        {False},
    ]
    roll_back(bucket, "prod", "throughput", nights[1])
    release_superseded(bucket, "prod", "throughput")
    assert _superseded(bucket, nights[1]) == {False}
    assert _superseded(bucket, nights[3]) == {False}


@pytest.mark.parametrize("tagged", ["catalogue.json", "manifest.json", "training.json"])
def test_what_a_run_that_ended_half_way_let_expire_is_kept_again(
    bucket: S3Store, tagged: str
) -> None:
    (metrics,) = run(night(13), bucket, Parameters())
    prefix = f"models/throughput/{metrics['version']}"
    boto3.client("s3").put_object_tagging(
        Bucket="fleet",
        Key=f"leap/{prefix}/{tagged}",
        Tagging={"TagSet": [{"Key": SUPERSEDED, "Value": "true"}]},
    )
    bucket.retain(prefix)
    assert _superseded(bucket, metrics["version"]) == {False}


def test_what_ssm_would_refuse_is_refused_here() -> None:
    with pytest.raises(StoreError, match="would have 5,000 bytes; it must have at most 4,096"):
        Parameters().write("/leap/prod/throughput/pointer", "x" * 5_000)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"LEAP_STORE": ""}, "LEAP_STORE"),
        ({"LEAP_STAGE": ""}, "LEAP_STAGE"),
        ({"LEAP_SCHEDULED_TIME": "2026-01-13"}, "LEAP_SCHEDULED_TIME"),
        ({"LEAP_TARGETS": "speed"}, 'LEAP_TARGETS is "speed"; it must be one of'),
        ({"LEAP_ESTIMATOR": "magic"}, "LEAP_ESTIMATOR"),
        ({"LEAP_ESTIMATOR": "single,magic"}, 'LEAP_ESTIMATOR is "magic"; it must be one of'),
        ({"LEAP_ESTIMATOR": "single,single"}, "names that differ"),
        ({"LEAP_ESTIMATOR": ""}, "LEAP_ESTIMATOR"),
        ({"LEAP_BUDGET_S": "-1"}, "LEAP_BUDGET_S"),
        ({"LEAP_BUDGET_S": "nan"}, "LEAP_BUDGET_S"),
        (
            {"LEAP_WINDOW_DAYS": "0"},
            "LEAP_WINDOW_DAYS is 0; it must be an integer from 1 to 36,500",
        ),
        ({"LEAP_WINDOW_DAYS": "x"}, 'LEAP_WINDOW_DAYS is "x"; it must be an integer'),
        ({"LEAP_HISTORY_DAYS": "1.5"}, 'LEAP_HISTORY_DAYS is "1.5"; it must be an integer'),
        ({"LEAP_LEAST_COMPLETE": "2"}, "LEAP_LEAST_COMPLETE"),
        ({"LEAP_LEAST_COMPLETE": "x"}, "LEAP_LEAST_COMPLETE"),
        ({"LEAP_TEST_RUN": "yes"}, "LEAP_TEST_RUN"),
    ],
)
def test_a_variable_that_breaks_its_rule_is_named(variables: dict[str, str], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        Environment.of(VARIABLES | variables)


def test_the_first_estimator_is_the_champion_and_the_others_challenge_it() -> None:
    assert [one.name for one in Environment.of(VARIABLES).estimators] == list(DEFAULT)
    told = Environment.of(VARIABLES | {"LEAP_ESTIMATOR": "single, cascade", "LEAP_BUDGET_S": "60"})
    assert ([one.name for one in told.estimators], told.budget_s) == (["single", "cascade"], 60.0)


def test_a_night_trains_on_as_many_days_as_it_is_told(bucket: S3Store) -> None:
    told, default = Environment.of(VARIABLES), Settings()
    assert (told.window_days, told.history_days) == (default.window_days, default.history_days)
    (metrics,) = run(night(13, LEAP_WINDOW_DAYS="3"), bucket, Parameters())
    window = metrics["window"]
    days = date.fromisoformat(window["to"]) - date.fromisoformat(window["from"])
    assert days.days == 2


def test_fits_go_to_the_cluster_that_is_named(bucket: S3Store) -> None:
    assert Environment.of(VARIABLES).cluster is None
    assert Environment.of(VARIABLES | {"LEAP_SCHEDULER": ""}).cluster is None
    with pytest.raises(FieldError, match=r"^LEAP_SCHEDULER is .* it must be tcp://HOST:PORT"):
        Environment.of(VARIABLES | {"LEAP_SCHEDULER": "host"})
    with cluster(1) as address:
        there = night(13, LEAP_SCHEDULER=address)
        (metrics,) = run(there, bucket, Parameters())
    assert metrics["pointed"]
    assert metrics["peak_memory_mb"] > 10
    told = r"^no Dask scheduler answers at "
    with pytest.raises(TrainingError, match=told):
        run(night(14, LEAP_SCHEDULER=address), bucket, Parameters())


def test_the_window_goes_by_the_scheduled_day_and_not_by_the_clock() -> None:
    assert Environment.of(VARIABLES).as_of == date(2026, 1, 13)
    late = {"LEAP_SCHEDULED_TIME": "2026-01-13T23:30:00-08:00"}
    assert Environment.of(VARIABLES | late).as_of == date(2026, 1, 14)


def test_the_command_says_in_one_line_why_it_cannot_run() -> None:
    variables = {name: value for name, value in os.environ.items() if "LEAP_" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "functions.retrain"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["error"].startswith("LEAP_SCHEDULED_TIME is missing")
    assert done.stderr == ""


def test_a_stop_signal_ends_the_run_as_such() -> None:
    script = "import os, signal, functions.retrain.__main__ as run; "
    script += "signal.signal(signal.SIGTERM, run._stop); os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM
