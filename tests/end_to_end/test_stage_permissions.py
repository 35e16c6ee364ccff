"""Functions and launchers of a deployed stage without one of their rights, each by itself.

What the local AWS lets a service do without asking the role is asked here in its place, with the
role's credentials; what it decides otherwise than AWS is listed with the reason, and held to that.
"""

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.bus import Bus, Published, PublishError
from cli.commands.publish import named_records
from cli.local_aws.environment import acting_as
from leap_model import RankClient
from leap_model.events import ATTEMPT, RANKING, SOURCE
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.handling import waiting
from tests.end_to_end.permissions import BY_PARAMETER, OBJECTS, TABLE, Grant, Rights
from tests.support import attempt, checked, request
from tests.unit.cli.commands import json_lines

Trained = tuple[Stage, list[str]]

LONGEST_S = 60.0
DAY = "2017-03-0{}"
"""Days that no night and no other test looks at."""


@pytest.fixture(scope="module")
def rights(filled: Stage) -> Rights:
    """What the stage's identities may do."""
    return Rights(f"leap-{STAGE}", STAGE)


def waited(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within a minute: what is refused is tried several times."""
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > deadline:
            return condition()
        time.sleep(0.1)
    return True


def logged(group: str, since: int) -> list[dict[str, Any]]:
    """The documents that a function logged from a moment on, in milliseconds."""
    found = boto3.client("logs").filter_log_events(logGroupName=group, startTime=since)["events"]
    lines = [event["message"] for event in found if event["message"].startswith("{")]
    return [json.loads(line) for line in lines]


# The ingest function.

PARTS = ("attempts", "rejected", "rankings")
INGEST = [Grant("IngestRole", "s3:PutObject", f"STORE/{part}/*") for part in PARTS]


@pytest.fixture(scope="module")
def impatient(filled: Stage) -> Iterator[Stage]:
    """A stage whose queue delivers again after a second rather than after 17 minutes."""
    sqs, queue = boto3.client("sqs"), filled.outputs["QueueUrl"]
    name = "VisibilityTimeout"
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[name])["Attributes"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={name: "1"})
    yield filled
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=found)


@pytest.mark.parametrize(("part", "grant"), list(zip(PARTS, INGEST, strict=True)), ids=PARTS)
def test_what_may_not_be_stored_ends_with_the_dead_letters_and_comes_back(
    impatient: Stage, rights: Rights, part: str, grant: Grant
) -> None:
    stage, since = impatient, int(time.time() * 1000)
    before = {name: set(stage.store.keys(name)) for name in PARTS}
    assert _dead(stage) == []

    def new(name: str) -> set[str]:
        return set(stage.store.keys(name)) - before[name]

    with rights.without(grant):
        _send_one_of_each(stage, PARTS.index(part))
        assert waited(lambda: waiting(stage.outputs["DeadLettersUrl"]) == 1)
        assert [len(new(name)) for name in PARTS] == [int(name != part) for name in PARTS]
    _send_back(stage)
    assert waited(lambda: len(new(part)) == 1)
    assert waited(lambda: waiting(stage.outputs["QueueUrl"]) == 0)
    assert [len(new(name)) for name in PARTS] == [1, 1, 1]
    documents = logged(rights.physical("IngestLog"), since)
    (said,) = {rights.short(line["fault"]) for line in documents if "fault" in line}
    assert said.startswith(f"{part}/dt=DAY/")
    assert said.endswith("cannot be written: AccessDenied")
    words = f"its messages wait with the dead letters, others are stored: `{said}`"
    TABLE.add(grant, "the ingest function", words)


def _send_one_of_each(stage: Stage, number: int) -> None:
    """An attempt, one that is none, and a served ranking."""
    name, day = f"refused-{number}", DAY.format(number + 1)
    good = attempt(attempt_id=name, completed_at=f"{day}T12:00:00Z")
    ranking: dict[str, Any] = {
        "ranking_id": name,
        "served_at": f"{day}T12:00:00Z",
        "model_version": None,
        "request": request(),
        "answer": {"preference": []},
        "features": None,
    }
    details = [(ATTEMPT, good), (ATTEMPT, good | {"num_trainers": "four"}), (RANKING, ranking)]
    entries = [
        {
            "EventBusName": stage.outputs["BusName"],
            "Source": SOURCE,
            "DetailType": kind,
            "Detail": json.dumps(detail),
        }
        for kind, detail in details
    ]
    sent = stage.client("events", stage.launcher.credentials).put_events(Entries=entries)
    assert sent["FailedEntryCount"] == 0


def _dead(stage: Stage) -> list[dict[str, Any]]:
    queue = stage.outputs["DeadLettersUrl"]
    found = boto3.client("sqs").receive_message(QueueUrl=queue, VisibilityTimeout=0)
    return list(found.get("Messages", ()))


def _send_back(stage: Stage) -> None:
    """Dead letters to the queue, as a redrive does, which the local AWS does not know."""
    sqs, queue = boto3.client("sqs"), stage.outputs["DeadLettersUrl"]
    for message in _dead(stage):
        sqs.send_message(QueueUrl=stage.outputs["QueueUrl"], MessageBody=message["Body"])
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


# The rank function.

SEND = Grant("RankRole", "events:PutEvents", "event-bus/leap-STAGE")
UTILIZATION = Grant("RankRole", "ssm:GetParameter", "/leap/STAGE/utilization/pointer")
CONFIRM = [Grant("RankRole", "s3:GetObject", name) for name in OBJECTS]
EMPTY = {
    Grant("RankRole", "s3:GetObject", "STORE/models/*"): "model_unavailable",
    Grant("RankRole", "s3:GetObject", "STORE/pointers/STAGE/switches.json"): "switched_off",
    Grant("RankRole", "ssm:GetParameter", "/leap/STAGE/throughput/pointer"): "model_unavailable",
}


class ColdFunction:
    """The rank function as new: without a model, in memory or on its disk, looking every time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lambda = boto3.client("lambda")
        self._name = {"FunctionName": f"leap-{STAGE}-rank"}
        found = self._lambda.get_function_configuration(**self._name)
        self._variables = found["Environment"]["Variables"]

    def start(self) -> int:
        """Begin anew; the moment, in milliseconds."""
        # Functions on this machine share one disk; in AWS a new one's is empty.
        shutil.rmtree(self._stage.aws.certificate.parent / "leap-artifacts", ignore_errors=True)
        since = int(time.time() * 1000)
        told = {"LEAP_CACHE_S": "0", "LEAP_SAMPLE": "1", "STARTED": uuid.uuid4().hex}
        self._configure(self._variables | told)
        return since

    def restore(self) -> None:
        """As it was deployed."""
        self._configure(self._variables)

    def _configure(self, variables: dict[str, str]) -> None:
        environment = {"Variables": variables}
        self._lambda.update_function_configuration(**self._name, Environment=environment)

    def asked(self) -> dict[str, Any]:
        """Its answer to a launcher; an answer and nothing else has every key of the contract."""
        with acting_as(self._stage.launcher.credentials):
            answer = RankClient(self._stage.url, timeout_s=LONGEST_S, sign=True).rank(request())
        assert "status" not in answer.get("detail", "")  # what is no answer says so
        return checked(answer)


@pytest.fixture(scope="module")
def cold(trained: Trained) -> Iterator[ColdFunction]:
    """The stage's rank function; afterwards it is as it was."""
    function = ColdFunction(trained[0])
    yield function
    function.restore()


@pytest.mark.parametrize("grant", EMPTY, ids=str)
def test_a_rank_function_without_a_right_answers_with_an_empty_list_and_why(
    cold: ColdFunction, rights: Rights, grant: Grant
) -> None:
    with rights.without(grant):
        since = cold.start()
        answer = cold.asked()
    assert (answer["preference"], answer["reason"]) == ([], EMPTY[grant])
    words = f"an empty list, `{answer['reason']}`"
    if "detail" in answer:
        said = rights.short(answer["detail"])
        assert "cannot be read: AccessDenied" in said
        words += f": `{said}`; `ModelLoadFailures` counts"
        assert waited(lambda: _metric(rights, since, "ModelLoadFailures") == 1)
    assert cold.asked()["preference"]
    TABLE.add(grant, "the rank function", words)


def test_a_rank_function_that_may_not_look_for_another_target_ranks_and_counts_it(
    cold: ColdFunction, rights: Rights
) -> None:
    with rights.without(UTILIZATION):
        since = cold.start()
        assert cold.asked()["preference"]
        assert waited(lambda: _metric(rights, since, "ModelLoadFailures") == 1)
    cold.asked()
    before = _metric(rights, since, "ModelLoadFailures")
    assert cold.asked()["preference"]
    assert _metric(rights, since, "ModelLoadFailures") == before
    words = "it ranks, and every look counts as one of `ModelLoadFailures`"
    TABLE.add(UTILIZATION, "the rank function", words)


@pytest.mark.usefixtures("both_targets")
@pytest.mark.parametrize("grant", CONFIRM, ids=str)
def test_a_rank_function_that_may_not_read_a_pointer_s_object_goes_by_the_parameter(
    cold: ColdFunction, rights: Rights, grant: Grant
) -> None:
    with rights.without(grant):
        since = cold.start()
        assert cold.asked()["preference"]
        assert waited(lambda: _metric(rights, since, "ModelLoadFailures") == 2)
    since = cold.start()
    assert cold.asked()["preference"]
    assert waited(lambda: _metric(rights, since, "ModelLoadFailures") == 1)
    TABLE.add(grant, "the rank function", f"{BY_PARAMETER} counts as one of `ModelLoadFailures`")


def test_a_rank_function_that_may_not_send_ranks_and_counts_what_is_lost(
    cold: ColdFunction, rights: Rights, trained: Trained
) -> None:
    store, queue = trained[0].store, trained[0].outputs["QueueUrl"]
    with rights.without(SEND):
        since = cold.start()
        # What earlier instances sent may still be on its way.
        assert waited(lambda: waiting(queue) == 0)
        before = set(store.keys("rankings"))
        assert cold.asked()["preference"]
        assert waited(
            lambda: (
                bool(cold.asked()["preference"]) and _metric(rights, since, "RecordsDropped") > 0
            )
        )
        assert set(store.keys("rankings")) == before
    assert waited(lambda: bool(cold.asked()["preference"]) and set(store.keys("rankings")) > before)
    words = "it ranks; no ranking is recorded, and `RecordsDropped` counts"
    TABLE.add(SEND, "the rank function", words)


def _metric(rights: Rights, since: int, name: str) -> float:
    """The sum of a metric that the function printed since it was started anew."""
    documents = logged(rights.physical("RankLog"), since)
    return sum(sum(line[name]) for line in documents if name in line)


# A launcher.

PUBLISH = Grant("LaunchersSending", "events:PutEvents", "event-bus/leap-STAGE")
ASK = Grant("LaunchersSending", "lambda:InvokeFunctionUrl", "function:leap-STAGE-rank")


def test_a_launcher_that_may_not_publish_is_told_what_was_not_sent(
    filled: Stage, rights: Rights, tmp_path: Path
) -> None:
    record = attempt(attempt_id="unsent", completed_at="2017-04-01T12:00:00Z")
    file = json_lines(tmp_path / "unsent.jsonl", [record])
    events = filled.client("events", filled.launcher.credentials)
    told = Published()
    with rights.without(PUBLISH), pytest.raises(PublishError) as refused:
        Bus(filled.outputs["BusName"], events).publish(named_records((file,)), told)
    assert told.sent == 0
    said = str(refused.value).replace(str(file), "FILE")
    assert said.endswith("failed: AccessDeniedException")
    filled.publish([record])
    TABLE.add(PUBLISH, "`leap publish`", f"nothing is sent: `{said}`")


def test_a_launcher_that_may_not_ask_gets_an_empty_list(trained: Trained, rights: Rights) -> None:
    stage, _ = trained
    with acting_as(stage.launcher.credentials):
        client = RankClient(stage.url, timeout_s=LONGEST_S, sign=True)
        with rights.without(ASK):
            answer = checked(client.rank(request()))
        assert client.rank(request())["preference"]
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert "status 403" in answer["detail"]
    words = f"an empty list, `model_unavailable`: `{answer['detail']}`"
    TABLE.add(ASK, "`RankClient`", words)


GRANTS = [*INGEST, *EMPTY, SEND, UTILIZATION, *CONFIRM, PUBLISH, ASK]
