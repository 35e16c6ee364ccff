"""From PutEvents through the rule and the queue to the function: moto is the AWS between."""

import json
from typing import Any

import boto3
import pytest

from leap_model.events import ATTEMPT, RANKING, SOURCE
from leap_model.times import now_us
from tests.integration.ingesting import REGION, Ingest
from tests.support import attempt
from tests.unit.ingest.deliveries import ids, ranking, rejected, rows, served

BUS = "leap-test"
PATTERN = {"source": [SOURCE], "detail-type": [ATTEMPT, RANKING]}


class Deployed:
    """Bus, rule and queue as the stack has them."""

    def __init__(self) -> None:
        self.events = boto3.client("events")
        self.sqs = boto3.client("sqs")
        self.url = self.sqs.create_queue(QueueName=f"{BUS}-attempts")["QueueUrl"]
        named = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        self.arn = named["Attributes"]["QueueArn"]
        self.events.create_event_bus(Name=BUS)
        self.events.put_rule(Name="r", EventBusName=BUS, EventPattern=json.dumps(PATTERN))
        target = {"Id": "queue", "Arn": self.arn}
        self.events.put_targets(Rule="r", EventBusName=BUS, Targets=[target])

    def put(self, detail: Any, detail_type: str = ATTEMPT, source: str = SOURCE) -> None:
        """What a launcher does."""
        entry = {
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
            "EventBusName": BUS,
        }
        assert self.events.put_events(Entries=[entry])["FailedEntryCount"] == 0

    def delivery(self) -> dict[str, Any]:
        """What waits in the queue, as Lambda's poller hands it over."""
        waiting = self.sqs.receive_message(
            QueueUrl=self.url, AttributeNames=["All"], MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return {"Records": [self._record(message) for message in waiting.get("Messages", ())]}

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "messageAttributes": message.get("MessageAttributes", {}),
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self.arn,
            "awsRegion": REGION,
        }


@pytest.fixture
def deployed(ingest: Ingest) -> Deployed:
    ingest.set_clock(now_us)  # moto stamps its messages by the machine's clock
    return Deployed()


def test_what_a_launcher_puts_is_stored(ingest: Ingest, deployed: Deployed) -> None:
    deployed.put(attempt(attempt_id="a1"))
    deployed.put(attempt(attempt_id="a2", num_trainers="8"))
    deployed.put(ranking(), RANKING)
    event = deployed.delivery()
    assert len(event["Records"]) == 3
    assert ingest(event) == {"batchItemFailures": []}
    assert ids(ingest.store) == ["a1"]
    assert [line["field"] for line in rejected(ingest.store)] == ["num_trainers"]
    assert [row["ranking_id"] for row in served(ingest.store)] == ["r-1"]


def test_what_the_queue_delivers_again_is_one_row(ingest: Ingest, deployed: Deployed) -> None:
    deployed.put(attempt())
    first, again = deployed.delivery(), deployed.delivery()
    counts = [
        each["Records"][0]["attributes"]["ApproximateReceiveCount"] for each in (first, again)
    ]
    assert counts == ["1", "2"]
    for event in (first, again):
        ingest(event)
    assert len(rows(ingest.store)) == 1


def test_events_of_others_do_not_reach_the_queue(deployed: Deployed) -> None:
    deployed.put(attempt(), source="other.launcher")
    deployed.put(attempt(), "Training Attempt Started")
    assert deployed.delivery() == {"Records": []}


def test_a_detail_by_itself_is_the_attempt_and_one_in_quotes_is_nothing(
    ingest: Ingest, deployed: Deployed
) -> None:
    deployed.put(attempt())
    detail = json.dumps(attempt())
    for body in (detail, json.dumps(detail)):
        deployed.sqs.send_message(QueueUrl=deployed.url, MessageBody=body)
    assert ingest(deployed.delivery()) == {"batchItemFailures": []}
    assert len(rows(ingest.store)) == 1
    assert [line["body"] for line in rejected(ingest.store)] == [json.dumps(detail)]
