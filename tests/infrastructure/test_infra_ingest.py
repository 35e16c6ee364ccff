"""From the bus to the function: what gets in, what waits how long, and where failures end."""

import json
from pathlib import Path

import pytest

from tests.infrastructure.templates import Template, listed

EVENTS = Path(__file__).parents[1] / "events"


def test_the_rule_takes_attempts_and_rankings_from_launchers_on_its_own_bus(
    template: Template,
) -> None:
    rule = template.plain(template.properties("AWS::Events::Rule"))
    assert rule["EventBusName"] == "<IngestBus>"
    assert rule["State"] == "ENABLED"
    assert rule["EventPattern"] == {
        "source": ["leap.launcher"],
        "detail-type": ["Training Attempt Completed", "Ranking Served"],
    }
    assert template.properties("AWS::Events::EventBus")["Name"] == f"leap-{template.stage}"


def test_an_event_arrives_as_it_is_and_is_not_lost_where_it_cannot(template: Template) -> None:
    (target,) = template.plain(template.properties("AWS::Events::Rule"))["Targets"]
    assert target["Arn"] == "<IngestQueue.Arn>"
    assert target["DeadLetterConfig"] == {"Arn": "<IngestDeadLetters.Arn>"}
    assert not {"Input", "InputPath", "InputTransformer"} & target.keys()


@pytest.mark.parametrize("queue", ["IngestQueue", "IngestDeadLetters"])
def test_only_the_rule_sends_to_a_queue_and_only_over_tls(template: Template, queue: str) -> None:
    policy = template.plain(template.properties("AWS::SQS::QueuePolicy", f"{queue}Policy"))
    denied, *allowed = sorted(
        policy["PolicyDocument"]["Statement"], key=lambda s: s["Effect"], reverse=True
    )
    assert denied["Effect"] == "Deny"
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    (statement,) = allowed
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": "<IngestRule.Arn>"}}
    assert "sqs:SendMessage" in listed(statement["Action"])


@pytest.mark.parametrize("queue", ["attempts", "attempts-dlq", "nightly-dlq"])
def test_a_queue_is_encrypted_and_keeps_for_two_weeks(template: Template, queue: str) -> None:
    queues = [r["Properties"] for r in template.resources("AWS::SQS::Queue").values()]
    (found,) = [q for q in queues if q["QueueName"] == f"leap-{template.stage}-{queue}"]
    assert found["SqsManagedSseEnabled"] is True
    assert found["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_message_stays_hidden_for_six_timeouts_and_the_wait_for_its_batch(
    template: Template,
) -> None:
    function = template.properties("AWS::Lambda::Function", "Ingest")
    source = template.properties("AWS::Lambda::EventSourceMapping")
    queue = template.properties("AWS::SQS::Queue", "IngestQueue")
    window = source["MaximumBatchingWindowInSeconds"]
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"] + window


def test_a_message_that_fails_comes_again_and_then_goes_to_the_dead_letters(
    template: Template,
) -> None:
    queue = template.plain(template.properties("AWS::SQS::Queue", "IngestQueue"))
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": "<IngestDeadLetters.Arn>",
        "maxReceiveCount": 5,
    }


def test_batches_wait_for_company_and_report_their_failures_one_by_one(
    template: Template,
) -> None:
    source = template.plain(template.properties("AWS::Lambda::EventSourceMapping"))
    assert source["EventSourceArn"] == "<IngestQueue.Arn>"
    assert source["FunctionName"] == "<IngestFunction>"
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["BatchSize"] == 10_000
    # 25,000 attempts a day would otherwise be thousands of objects (CASES D26).
    assert 60 <= source["MaximumBatchingWindowInSeconds"] <= 300
    assert 2 <= source["ScalingConfig"]["MaximumConcurrency"] <= 10


def test_the_function_is_what_the_handler_expects(template: Template) -> None:
    function = template.plain(template.properties("AWS::Lambda::Function", "Ingest"))
    assert function["FunctionName"] == f"leap-{template.stage}-ingest"
    assert function["Handler"] == "functions.ingest.handler.handler"
    assert function["Runtime"] == "python3.13"
    assert function["Architectures"] == ["arm64"]
    assert function["LoggingConfig"] == {"LogGroup": "<IngestLog>"}
    variables = function["Environment"]["Variables"]
    assert variables["LEAP_STORE"] == "s3://<StoreBucket>"
    assert variables["LEAP_STAGE"] == template.stage


@pytest.mark.parametrize(
    ("name", "taken"), [("attempt", True), ("ranking", True), ("foreign_event", False)]
)
def test_the_rule_takes_the_captured_events_that_are_ours(
    dev: Template, name: str, taken: bool
) -> None:
    pattern = dev.properties("AWS::Events::Rule")["EventPattern"]
    (record,) = json.loads((EVENTS / f"{name}.json").read_text())["Records"]
    event = json.loads(record["body"])
    matches = all(event[field] in values for field, values in pattern.items())
    assert matches == taken
