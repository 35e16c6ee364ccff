"""Attempts that come twice, late, out of order, broken, or while S3 takes nothing."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from leap_model.reading import distinct, partition_days, read_days
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.faults import Proxy, refused
from tests.end_to_end.handling import kept_clean, told, until, waiting
from tests.support import attempt

FUNCTION = f"leap-{STAGE}-ingest"
ARRIVED_S = 120.0
VISIBILITY_S = 8
MOST_RECEIVES = 2
POISON = (
    "not JSON",
    "[1, 2",
    "null",
    "[]",
    '"a text"',
    "[" * 5_000 + "]" * 5_000,
    "x" * 200_000,
    json.dumps(json.dumps(attempt())),
    json.dumps({"detail-type": "Another Thing", "source": "leap.launcher", "detail": attempt()}),
    json.dumps(
        {"detail-type": "Training Attempt Completed", "source": "another", "detail": attempt()}
    ),
    json.dumps({**attempt(), "num_trainers": float("nan")}),
    json.dumps({**attempt(), "completed_at": "2014-12-31T23:59:59Z"}),
)
"""Bodies that are no attempt, each in its own way."""
OTHERS: set[str] = set()
"""Rejected lines that were there before a test."""


@pytest.fixture(autouse=True)
def _clean(stage: Stage) -> Iterator[None]:
    """Other tests count what is stored; what they had rejected is none of these tests' business."""
    OTHERS.clear()
    OTHERS.update(stage.store.keys("rejected"))
    with kept_clean(stage.outputs["BucketName"], "attempts/", "rejected/"):
        yield
        assert until(lambda: waiting(stage.outputs["QueueUrl"]) == 0, ARRIVED_S)
    boto3.client("sqs").purge_queue(QueueUrl=stage.outputs["DeadLettersUrl"])


def ids(stage: Stage, year: int) -> list[str]:
    """Every attempt that completed in a year, as training reads them: sorted, and each once."""
    days = [
        (day, keys)
        for day, keys in partition_days(stage.store).items()
        if date(year, 1, 1) <= day < date(year + 1, 1, 1)
    ]
    if not days:
        return []
    names = ["attempt_id", "completed_at", "record_sha256"]
    table = distinct(read_days(stage.store, days, names).whole().table)
    return sorted(table["attempt_id"].to_pylist())


def rejected(stage: Stage) -> list[dict[str, Any]]:
    """Every rejected line that is new."""
    new = [key for key in stage.store.keys("rejected") if key not in OTHERS]
    contents = [stage.store.read(key) or b"" for key in new]
    return [json.loads(line) for content in contents for line in content.splitlines()]


def send(stage: Stage, bodies: list[str]) -> None:
    """Messages straight into the queue, where nothing looks at them first."""
    sqs = boto3.client("sqs")
    for body in bodies:
        sqs.send_message(QueueUrl=stage.outputs["QueueUrl"], MessageBody=body)


def test_a_thousand_events_sent_twice_are_counted_once(stage: Stage) -> None:
    begin = datetime(2016, 3, 1, tzinfo=UTC)
    sent = [
        attempt(
            attempt_id=f"twice-{at:04}",
            completed_at=(begin + timedelta(minutes=7 * at)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        for at in range(1_000)
    ]
    twice = [*sent, *sent]
    random.Random(0).shuffle(twice)
    stage.publish(twice)
    expected = [entry["attempt_id"] for entry in sent]
    assert until(lambda: waiting(stage.outputs["QueueUrl"]) == 0, ARRIVED_S, every_s=1.0)
    assert until(lambda: ids(stage, 2016) == expected, ARRIVED_S, every_s=1.0)
    assert rejected(stage) == []


def test_events_out_of_order_and_late_land_in_their_own_days(stage: Stage) -> None:
    late = (datetime.now(UTC) - timedelta(days=3)).replace(microsecond=0)
    sent = {
        "2016-05-14": ["2016-05-14T09:00:00Z"],
        "2016-05-11": ["2016-05-11T00:00:00Z", "2016-05-11T23:59:59.999999Z"],
        "2016-05-12": ["2016-05-12T00:00:00.000001Z", "2016-05-11T20:00:00-08:00"],
        "2016-05-10": ["2016-05-10T23:59:59.999999Z", "2016-05-11T01:30:00+02:00"],
        f"{late:%Y-%m-%d}": [late.isoformat()],
    }
    expected = {f"{day}-{at}": day for day, times in sent.items() for at in range(len(times))}
    stage.publish(
        [
            attempt(attempt_id=f"{day}-{at}", completed_at=time)
            for day, times in sent.items()
            for at, time in enumerate(times)
        ]
    )

    def days() -> dict[str, str]:
        found = {}
        for key in stage.store.keys("attempts"):
            for row in pq.read_table(BytesIO(stage.store.read(key) or b"")).to_pylist():
                if row["attempt_id"] in expected:
                    found[row["attempt_id"]] = key.split("/")[1].removeprefix("dt=")
                    assert f"{row['completed_at']:%Y-%m-%d}" == expected[row["attempt_id"]]
        return found

    assert until(lambda: len(days()) == len(expected), ARRIVED_S, every_s=1.0)
    assert days() == expected


def test_poison_is_kept_apart_whole_and_its_neighbours_are_stored(stage: Stage) -> None:
    good = [
        attempt(attempt_id=f"beside-{at:02}", completed_at="2016-06-01T12:00:00Z")
        for at in range(len(POISON))
    ]
    send(stage, [body for pair in zip(map(json.dumps, good), POISON, strict=True) for body in pair])
    assert until(lambda: len(rejected(stage)) == len(POISON), ARRIVED_S)
    assert sorted(line["body"] for line in rejected(stage)) == sorted(POISON)
    assert all(line["reason"] for line in rejected(stage))
    assert until(lambda: waiting(stage.outputs["QueueUrl"]) == 0, ARRIVED_S)
    assert waiting(stage.outputs["DeadLettersUrl"]) == 0
    assert ids(stage, 2016) == [entry["attempt_id"] for entry in good]


@contextmanager
def impatient_queue(stage: Stage) -> Iterator[None]:
    """While the block runs, messages come again in seconds, and end as dead letters soon."""
    sqs, queue = boto3.client("sqs"), {"QueueUrl": stage.outputs["QueueUrl"]}
    names = ["VisibilityTimeout", "RedrivePolicy"]
    before = sqs.get_queue_attributes(**queue, AttributeNames=names)["Attributes"]
    policy = json.loads(before["RedrivePolicy"]) | {"maxReceiveCount": MOST_RECEIVES}
    changed = {"VisibilityTimeout": str(VISIBILITY_S), "RedrivePolicy": json.dumps(policy)}
    sqs.set_queue_attributes(**queue, Attributes=changed)
    try:
        yield
    finally:
        sqs.set_queue_attributes(**queue, Attributes=before)


def redrive(stage: Stage) -> None:
    """Dead letters back to where they came from."""
    sqs, source = boto3.client("sqs"), stage.outputs["DeadLettersUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["QueueArn"])["Attributes"]
    try:
        sqs.start_message_move_task(SourceArn=arn["QueueArn"])
    except ClientError as fault:
        # The local AWS does not know this call; what it does is done by hand.
        if "InvalidAction" not in str(fault):
            raise
        while messages := sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in messages:
                send(stage, [message["Body"]])
                sqs.delete_message(QueueUrl=source, ReceiptHandle=message["ReceiptHandle"])


def test_what_s3_does_not_take_becomes_dead_letters_and_redriven_none_is_missing(
    stage: Stage,
) -> None:
    taken, not_taken = (
        [
            attempt(attempt_id=f"{day}-{at:02}", completed_at=f"2016-07-{day}T12:00:00Z")
            for at in range(12)
        ]
        for day in ("01", "02")
    )
    mixed = [entry for pair in zip(taken, not_taken, strict=True) for entry in pair]
    fails = ("PUT attempts/dt=2016-07-02", "PUT rejected/")
    with Proxy(stage.aws) as proxy, impatient_queue(stage):
        proxy.rule = refused(lambda call: call.startswith(fails), 503, "SlowDown")
        with told(FUNCTION, AWS_ENDPOINT_URL_S3=proxy.endpoint):
            stage.publish(mixed)
            send(stage, ["poison"])
            dead = len(not_taken) + 1
            assert until(
                lambda: waiting(stage.outputs["DeadLettersUrl"]) == dead, ARRIVED_S, every_s=1.0
            )
            assert until(lambda: waiting(stage.outputs["QueueUrl"]) == 0, ARRIVED_S, every_s=1.0)
            assert ids(stage, 2016) == [entry["attempt_id"] for entry in taken]
            assert rejected(stage) == []
            proxy.rule = None
            redrive(stage)
            every = sorted(entry["attempt_id"] for entry in mixed)
            assert until(lambda: ids(stage, 2016) == every, ARRIVED_S, every_s=1.0)
            assert until(
                lambda: [line["body"] for line in rejected(stage)] == ["poison"], ARRIVED_S
            )
            assert until(lambda: waiting(stage.outputs["QueueUrl"]) == 0, ARRIVED_S)
            assert waiting(stage.outputs["DeadLettersUrl"]) == 0
