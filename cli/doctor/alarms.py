"""What CloudWatch already knows to be wrong."""

from cli.doctor.account import Account
from cli.doctor.names import Names
from cli.doctor.report import Problem, Problems


def alarm_problems(account: Account, names: Names) -> Problems:
    """The stage's alarms that ring, each with the advice of its description."""
    pages = account.pages(
        "cloudwatch",
        "describe_alarms",
        on="the alarms",
        AlarmNamePrefix=names.of() + "-",
        AlarmTypes=["MetricAlarm"],
    )
    # By what they are told to: leap-prod- also begins the names of a stage prod-eu.
    topic = f":{names.alarm_topic}"
    own = [
        alarm
        for page in pages
        for alarm in page["MetricAlarms"]
        if any(action.endswith(topic) for action in alarm.get("AlarmActions", ()))
    ]
    if not own:
        yield Problem(
            f"no alarm is told to {names.alarm_topic}",
            "a stage has alarms",
            f"make deploy STAGE={names.stage}",
        )
    for alarm in own:
        if alarm["StateValue"] == "ALARM":
            why = " ".join(alarm.get("StateReason", "").split())
            yield Problem(
                f"{alarm['AlarmName']} is in ALARM ({why})",
                "none is",
                " ".join(alarm.get("AlarmDescription", "see it in CloudWatch").split()),
            )
