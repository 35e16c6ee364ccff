"""What waits to be filed, and what could not be delivered."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.doctor.account import Account
from cli.doctor.report import Problem, Problems
from cli.doctor.rules import MOST_WAIT_S, MOST_WAITING

_PERIOD_S: Final = 300
_BACK: Final = timedelta(minutes=15)
"""SQS tells CloudWatch once in five minutes while a queue is used."""


def dead_letter_problems(account: Account, queue: str, meaning: str) -> Problems:
    """A queue that is to be empty; `meaning` says what a message in it is."""
    held = yield from _held(account, queue)
    if held:
        yield Problem(
            f"{held:,} messages in {queue}",
            f"it is empty; each is {meaning}",
            "read one, mend the cause, then send them back: "
            f"aws sqs start-message-move-task --source-arn {_arn(account, queue)}",
        )


def nightly_letter_problems(account: Account, queue: str, again: str) -> Problems:
    """Nights that could not be started; `again` is the command that makes up for one."""
    held = yield from _held(account, queue)
    if held:
        yield Problem(
            f"{held:,} messages in {queue}",
            "it is empty; each is a night that could not be started",
            f"read the error in one's attributes, mend the cause, then {again}",
        )


def queue_problems(account: Account, queue: str, function: str, now: int) -> Problems:
    """What waits in a queue and for how long.

    Parameters
    ----------
    account, queue, function : Account, str, str
        Where, and the function that takes its messages.
    now : int
        Microseconds.
    """
    held = yield from _held(account, queue)
    do = f"see the log of {function}, whether it is throttled, and its event source mapping"
    if held > MOST_WAITING:
        yield Problem(f"{held:,} messages wait in {queue}", f"at most {MOST_WAITING:,} do", do)
    age = _oldest_s(account, queue, now)
    if age > MOST_WAIT_S:
        yield Problem(
            f"the oldest message of {queue} has waited {age / 3600:,.1f} h",
            f"at most {MOST_WAIT_S // 3600} h",
            do,
        )


def _held(account: Account, queue: str) -> Generator[Problem, None, int]:
    """Messages that can be received now; a queue that is missing is a problem, and holds none."""
    found = account.ask("sqs", "get_queue_url", on=queue, QueueName=queue)
    name = "ApproximateNumberOfMessages"
    answer = found and account.ask(
        "sqs",
        "get_queue_attributes",
        on=queue,
        QueueUrl=found["QueueUrl"],
        AttributeNames=[name],
    )
    if not answer:
        yield Problem(f"{queue} is not there", "a stage has it", "make deploy brings it back")
        return 0
    return int(answer["Attributes"][name])


def _oldest_s(account: Account, queue: str, now: int) -> float:
    """Seconds that the oldest message has waited, 0 where nothing was told of the queue."""
    end = datetime.fromtimestamp(now / 1e6, UTC)
    answer = account.ask(
        "cloudwatch",
        "get_metric_statistics",
        on=f"the age of {queue}'s messages",
        Namespace="AWS/SQS",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": queue}],
        StartTime=end - _BACK,
        EndTime=end,
        Period=_PERIOD_S,
        Statistics=["Maximum"],
    )
    points = sorted((answer or {}).get("Datapoints", ()), key=lambda point: point["Timestamp"])
    return float(points[-1]["Maximum"]) if points else 0.0


def _arn(account: Account, queue: str) -> str:
    partition = account.client("sqs").meta.partition
    return f"arn:{partition}:sqs:{account.region}:{account.number}:{queue}"
