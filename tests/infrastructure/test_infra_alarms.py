"""What is watched: each fault that the issue names has an alarm that some metric can set off."""

import ast
import json
from pathlib import Path

import pytest

from tests.infrastructure.templates import Template, leaves

FUNCTIONS = Path(__file__).parents[2] / "functions"
OWN = "LEAP"


def test_there_is_an_alarm_for_each_fault(template: Template) -> None:
    assert set(template.alarms()) == {
        "attempts-dlq-not-empty",
        "nothing-ingested",
        "nightly-dlq-not-empty",
        "no-new-model",
        "w20-low",
        "model-old",
        "empty-lists",
        "rank-faults",
        "rank-errors",
        "rank-slow",
    }


def test_every_alarm_is_told_to_the_topic_and_explains_itself(template: Template) -> None:
    for alarm in template.alarms().values():
        assert template.plain(alarm["AlarmActions"]) == ["<ObservabilityAlarmsTopic>"]
        assert len(alarm["AlarmDescription"]) > 20
        assert "Metrics" not in alarm  # a local AWS deploys alarms of single metrics only
        assert alarm["Period"] * alarm["EvaluationPeriods"] <= 7 * 24 * 3600


def test_cloudwatch_may_tell_the_topic_and_nobody_in_plain_text(template: Template) -> None:
    document = template.properties("AWS::SNS::TopicPolicy")["PolicyDocument"]
    denied, allowed = sorted(
        template.plain(document["Statement"]), key=lambda s: s["Effect"], reverse=True
    )
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Action"] == "sns:Publish"
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"}}


@pytest.mark.parametrize("queue", ["attempts-dlq", "nightly-dlq"])
def test_one_message_given_up_is_enough(template: Template, queue: str) -> None:
    alarm = template.alarms()[f"{queue}-not-empty"]
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    (dimension,) = alarm["Dimensions"]
    logical_id = dimension["Value"]["Fn::GetAtt"][0]
    name = template.body["Resources"][logical_id]["Properties"]["QueueName"]
    assert name == f"leap-{template.stage}-{queue}"
    assert alarm["Statistic"] == "Maximum"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)


def test_a_day_without_attempts_is_noticed_though_nothing_reports_it(template: Template) -> None:
    alarm = template.alarms()["nothing-ingested"]
    assert (alarm["MetricName"], alarm["Statistic"]) == ("AttemptsStored", "Sum")
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 24 * 3600
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["TreatMissingData"] == "breaching"


def test_a_model_of_more_than_36_hours_is_noticed_with_rankings_and_without(
    template: Template,
) -> None:
    old = template.alarms()["model-old"]
    assert (old["MetricName"], old["Statistic"]) == ("ModelAgeHours", "Maximum")
    assert (old["ComparisonOperator"], old["Threshold"]) == ("GreaterThanThreshold", 36)
    stuck = template.alarms()["no-new-model"]
    assert (stuck["MetricName"], stuck["Statistic"]) == ("RunsPointed", "Sum")
    assert stuck["Period"] * stuck["EvaluationPeriods"] == 36 * 3600
    assert stuck["TreatMissingData"] == "breaching"


def test_a_fall_of_w20_is_noticed(template: Template) -> None:
    alarm = template.alarms()["w20-low"]
    assert (alarm["MetricName"], alarm["Statistic"]) == ("W20", "Minimum")
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 0.5)


def test_the_share_of_empty_lists_is_an_average_of_noughts_and_ones(template: Template) -> None:
    alarm = template.alarms()["empty-lists"]
    assert (alarm["MetricName"], alarm["Statistic"]) == ("EmptyPreferences", "Average")
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0.2)


def test_faults_errors_and_slowness_of_rankings_are_noticed(template: Template) -> None:
    alarms = template.alarms()
    assert alarms["rank-faults"]["MetricName"] == "RankingErrors"
    assert alarms["rank-errors"]["MetricName"] == "Errors"
    slow = alarms["rank-slow"]
    assert (slow["MetricName"], slow["ExtendedStatistic"]) == ("Duration", "p99")
    assert slow["Threshold"] == 300
    for name in ("rank-errors", "rank-slow"):
        (dimension,) = template.plain(alarms[name]["Dimensions"])
        assert dimension == {"Name": "FunctionName", "Value": "<RankFunction>"}


def test_own_metrics_are_of_the_stage_and_of_the_function_that_emits_them(
    template: Template,
) -> None:
    emitted = {service: _texts(service) for service in ("ingest", "rank", "retrain")}
    own = [a for a in template.alarms().values() if a["Namespace"] == OWN]
    assert len(own) == 6
    for alarm in own:
        dimensions = {entry["Name"]: entry["Value"] for entry in alarm["Dimensions"]}
        assert dimensions["stage"] == template.stage
        assert dimensions.keys() == {"service", "stage"}
        assert alarm["MetricName"] in emitted[dimensions["service"]]


def test_the_dashboard_shows_every_metric_that_the_functions_emit(template: Template) -> None:
    page = json.dumps(template.properties("AWS::CloudWatch::Dashboard")["DashboardBody"])
    for metric in (
        *("AttemptsStored", "AttemptsRejected", "AttemptsDuplicate", "IngestLagSeconds"),
        *("W20", "RunsPublished", "RunsPointed"),
        *("Rankings", "EmptyPreferences", "RankingErrors", "ModelAgeHours", "ModelLoadFailures"),
    ):
        assert f'\\"{metric}\\"' in page, metric


def test_a_person_who_is_named_gets_the_alarms(tmp_path: Path) -> None:
    from tests.infrastructure.templates import synthesised

    template = synthesised(tmp_path, alarm_email="operator@example.com")
    subscription = template.plain(template.properties("AWS::SNS::Subscription"))
    assert subscription["Protocol"] == "email"
    assert subscription["Endpoint"] == "operator@example.com"
    assert subscription["TopicArn"] == "<ObservabilityAlarmsTopic>"


def test_nobody_gets_them_unless_named(template: Template) -> None:
    assert not template.resources("AWS::SNS::Subscription")
    assert "@" not in "".join(str(value) for _, value in leaves(template.alarms()))


def _texts(service: str) -> set[str]:
    """Every text of a function's telemetry, among them the names of its metrics."""
    tree = ast.parse((FUNCTIONS / service / "telemetry.py").read_text())
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str)}
