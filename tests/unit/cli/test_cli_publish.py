"""leap publish, from files to what a rule of the bus delivers; moto is the AWS."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.support import attempt
from tests.unit.cli.commands import document, json_lines, refused, run, succeeded

PATTERN = {"source": ["leap.launcher"], "detail-type": ["Training Attempt Completed"]}


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a queue that the bus leap-test delivers attempts to."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        sqs, events = boto3.client("sqs"), boto3.client("events")
        url = sqs.create_queue(QueueName="attempts")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        events.create_event_bus(Name="leap-test")
        place = {"EventBusName": "leap-test"}
        events.put_rule(Name="attempts", EventPattern=json.dumps(PATTERN), **place)
        target = {"Id": "queue", "Arn": arn["Attributes"]["QueueArn"]}
        events.put_targets(Rule="attempts", Targets=[target], **place)
        yield url


def _delivered(queue: str) -> list[dict[str, Any]]:
    sqs = boto3.client("sqs")
    events: list[dict[str, Any]] = []
    while True:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        if "Messages" not in answer:
            return events
        for message in answer["Messages"]:
            events.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def test_the_attempts_of_a_file_come_out_of_the_rule(queue: str, tmp_path: Path) -> None:
    attempts = [attempt(attempt_id=f"a-{number}") for number in range(23)]
    file = json_lines(tmp_path / "day.jsonl", attempts)
    assert succeeded("publish", file, "--bus", "leap-test") == "read 23: sent 23\n"
    events = _delivered(queue)
    key = "attempt_id"
    assert sorted((e["detail"] for e in events), key=lambda a: a[key]) == sorted(
        attempts, key=lambda a: a[key]
    )
    assert {(e["source"], e["detail-type"]) for e in events} == {
        ("leap.launcher", "Training Attempt Completed")
    }


def test_a_csv_file_is_sent_as_nested_records(queue: str, tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text(
        "attempt_id,job_name,model_type,hardware_type,num_trainers,batch_size,throughput,"
        "completed_at,config.lr\n"
        "a-1,job,resnet,fast-8,4,32,99.5,2026-01-02T08:59:00Z,0.1\n"
    )
    assert document("publish", file, "--bus", "leap-test") == {
        "read": 1,
        "sent": 1,
        "failed": 0,
        "failures": [],
    }
    (event,) = _delivered(queue)
    assert event["detail"]["num_trainers"] == 4
    assert event["detail"]["config"] == {"lr": 0.1}


def test_what_cannot_be_sent_is_named_and_the_exit_code_says_so(queue: str, tmp_path: Path) -> None:
    file = json_lines(tmp_path / "day.jsonl", [attempt(), attempt(attempt_id="a-2")])
    file.write_text(file.read_text() + "{half a line\n[]\n")
    result = run("publish", file, "--bus", "leap-test")
    assert result.exit_code == 1
    assert result.stdout == "read 4: sent 2\n"
    assert result.stderr.splitlines() == [
        "not sent: record 3 of day.jsonl: NotPublishable, it must be one JSON object in UTF-8",
        "not sent: record 4 of day.jsonl: NotPublishable, it must be one JSON object",
        "Error: 2 attempts were not sent",
    ]
    assert len(_delivered(queue)) == 2


def test_failures_are_in_the_document_too(queue: str, tmp_path: Path) -> None:
    file = tmp_path / "day.jsonl"
    file.write_text("[]\n")
    result = run("publish", file, "--bus", "leap-test", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["failures"] == [
        {
            "record": "record 1 of day.jsonl",
            "code": "NotPublishable",
            "message": "it must be one JSON object",
        }
    ]


@pytest.mark.usefixtures("queue")
def test_a_bus_that_is_not_there_is_an_error_before_anything_is_sent(tmp_path: Path) -> None:
    file = json_lines(tmp_path / "day.jsonl", [attempt()])
    error = refused("publish", file, "--bus", "leap-prod")
    assert error == "Error: there is no event bus leap-prod in this region"


def test_without_a_region_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # else an EC2 machine is asked
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    file = json_lines(tmp_path / "day.jsonl", [attempt()])
    error = refused("publish", file, "--bus", "leap-test")
    assert error == "Error: the bus leap-test cannot be reached: NoRegionError"
