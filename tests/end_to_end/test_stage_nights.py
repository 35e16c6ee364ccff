"""Nights and rankings of a deployed stage, each with no more rights than its role has."""

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from cli.local_aws.environment import acting_as
from cli.local_aws.roles import LauncherRole
from cli.local_aws.server import REGION
from leap_model import RankClient, Ranker
from leap_model.parameters import Parameters, deployed_pointer
from leap_model.pointer import read_pointer
from tests.end_to_end.conftest import FLEET, STAGE, Stage
from tests.end_to_end.handling import until
from tests.support import checked, request
from tests.unit.local_aws.processes import listening, told_of

ARRIVED_S = 120.0
Trained = tuple[Stage, list[str]]


def _asked(stage: Stage, document: dict[str, Any], role: LauncherRole) -> dict[str, Any]:
    with acting_as(role.credentials):
        return RankClient(stage.url, timeout_s=20.0, sign=True).rank(document)


def test_nothing_of_the_stage_can_be_reached_from_another_machine(stage: Stage) -> None:
    servers = told_of(stage.aws.certificate.parent)
    assert any("ministack" in line for line in servers.values())
    assert set().union(*(listening(number) for number in servers)) == {"0100007F"}


def test_a_night_publishes_and_the_parameter_follows_the_pointer(trained: Trained) -> None:
    stage, said = trained
    pointer, _ = read_pointer(stage.store, STAGE, "throughput")
    assert pointer is not None
    assert deployed_pointer(Parameters(), STAGE, "throughput") == pointer
    assert stage.store.size(f"{pointer.uri}/manifest.json")
    assert any('"RunsPointed"' in line for line in said)
    metrics = json.loads(
        stage.store.read(f"reports/throughput/{pointer.version}/metrics.json") or b""
    )
    day = metrics["evaluation"]["from"]
    in_window = [entry for entry in FLEET if entry["completed_at"][:10] < day]
    assert metrics["attempts"]["read"] == len(in_window)  # those sent twice count once


def test_the_same_night_again_does_nothing(trained: Trained) -> None:
    stage, _ = trained
    before = deployed_pointer(Parameters(), STAGE, "throughput")
    models = stage.store.keys("models")
    said = [json.loads(line) for line in stage.night()]
    (done,) = [line["done"] for line in said if "done" in line]
    assert "already" in done
    assert deployed_pointer(Parameters(), STAGE, "throughput") == before
    assert stage.store.keys("models") == models


def test_a_launcher_gets_its_preference_over_signed_http(trained: Trained) -> None:
    stage, _ = trained
    answer = checked(_asked(stage, request(), stage.launcher))
    assert answer["reason"] is None
    assert {entry["id"] for entry in answer["preference"]} == {"fast-8", "mid-8", "slow-4"}
    pointer = deployed_pointer(Parameters(), STAGE, "throughput")
    assert pointer is not None
    assert answer["model_version"] == pointer.version


def test_an_invalid_request_is_an_answer_too(trained: Trained) -> None:
    stage, _ = trained
    answer = checked(_asked(stage, {"job": {}, "candidates": ["fast-8"]}, stage.launcher))
    assert answer["reason"] == "invalid_request"


def test_a_ranker_in_process_says_the_same_with_its_own_policy(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, _ = trained
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where it keeps the artifact
    ranker = LauncherRole("ranker", stage.outputs["RankerPolicy"])
    over_http = _asked(stage, request(), stage.launcher)
    with acting_as(ranker.credentials), _fresh_session():
        in_process = Ranker.from_aws(STAGE).rank(request())
    assert in_process["preference"] == over_http["preference"]


def test_an_unsigned_request_is_refused(trained: Trained) -> None:
    stage, _ = trained
    call = urllib.request.Request(stage.url, json.dumps(request()).encode(), method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(call)
    with refused.value as answer:
        assert answer.code == 403


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_curl_gets_an_answer_as_the_documentation_says(trained: Trained) -> None:
    stage, _ = trained
    keys = stage.launcher.credentials
    command = [
        *("curl", "--silent", "--cacert", str(stage.aws.certificate)),
        *("--aws-sigv4", f"aws:amz:{REGION}:lambda"),
        *("--user", f"{keys['AWS_ACCESS_KEY_ID']}:{keys['AWS_SECRET_ACCESS_KEY']}"),
        *("-H", f"x-amz-security-token: {keys['AWS_SESSION_TOKEN']}"),
        *("-d", json.dumps(request()), stage.url),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert checked(json.loads(done.stdout))["reason"] is None


def test_someone_without_the_policy_is_refused(trained: Trained) -> None:
    stage, _ = trained
    stranger = LauncherRole("stranger", stage.outputs["RankerPolicy"])
    answer = _asked(stage, request(), stranger)
    assert answer["reason"] == "model_unavailable"
    assert "403" in answer["detail"]


@pytest.mark.parametrize("key", ["models/throughput/x", "pointers/e2e/switches.json"])
def test_a_launcher_cannot_touch_the_store(key: str, trained: Trained) -> None:
    stage, _ = trained
    s3 = stage.client("s3", stage.launcher.credentials)
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.put_object(Bucket=stage.outputs["BucketName"], Key=key, Body=b"")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.list_objects_v2(Bucket=stage.outputs["BucketName"])


def test_a_served_ranking_that_is_sampled_ends_in_the_store(trained: Trained) -> None:
    stage, _ = trained
    function = {"FunctionName": f"leap-{STAGE}-rank"}
    lambda_ = boto3.client("lambda")
    variables = lambda_.get_function_configuration(**function)["Environment"]["Variables"]
    everything = {"Variables": variables | {"LEAP_SAMPLE": "1"}}
    lambda_.update_function_configuration(**function, Environment=everything)
    answer = _asked(stage, request(), stage.launcher)

    def stored() -> dict[str, dict[str, Any]]:
        contents = [stage.store.read(key) or b"" for key in stage.store.keys("rankings")]
        rows = [row for content in contents for row in pq.read_table(BytesIO(content)).to_pylist()]
        return {row["ranking_id"]: row for row in rows}

    assert until(lambda: answer["ranking_id"] in stored(), ARRIVED_S, every_s=0.5)
    row = stored()[answer["ranking_id"]]
    assert json.loads(row["answer"])["preference"] == answer["preference"]
    assert len(json.loads(row["features"])["rows"]) == 3


@contextmanager
def _fresh_session() -> Iterator[None]:
    """While the block runs, clients look their credentials up anew."""
    boto3.setup_default_session()
    try:
        yield
    finally:
        boto3.DEFAULT_SESSION = None
