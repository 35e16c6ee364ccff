"""A call that succeeds may hold events that failed: each one is answered for."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cli.bus import Bus, Published, PublishError
from leap_model.intake import Record
from tests.support import attempt

Refusals = Callable[[int, str], str | None]


class _Events:
    """An EventBridge that refuses entries by call number (from 1) and attempt id."""

    def __init__(self, refuse: Refusals = lambda call, identity: None) -> None:
        self.calls: list[list[str]] = []
        self._refuse = refuse

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert len(Entries) <= 10
        assert {entry["EventBusName"] for entry in Entries} == {"leap-test"}
        ids = [json.loads(entry["Detail"])["attempt_id"] for entry in Entries]
        self.calls.append(ids)
        codes = [self._refuse(len(self.calls), identity) for identity in ids]
        answers = [
            {"EventId": identity} if code is None else {"ErrorCode": code, "ErrorMessage": "why"}
            for identity, code in zip(ids, codes, strict=True)
        ]
        return {"FailedEntryCount": sum(c is not None for c in codes), "Entries": answers}


def _records(count: int) -> list[tuple[str, Record]]:
    every = [attempt(attempt_id=f"a-{number}") for number in range(count)]
    return [(f"record {n}", Record.of_json(json.dumps(a).encode())) for n, a in enumerate(every)]


def _published(events: Any, count: int) -> tuple[Published, list[float]]:
    published, pauses = Published(), list[float]()
    Bus("leap-test", events, pauses.append).publish(_records(count), published)
    return published, pauses


def test_eleven_attempts_are_two_calls() -> None:
    events = _Events()
    published, pauses = _published(events, 11)
    assert [len(call) for call in events.calls] == [10, 1]
    assert (published.read, published.sent, published.failures) == (11, 11, [])
    assert pauses == []


def test_two_refused_of_ten_are_named_and_not_counted_as_sent() -> None:
    def refuse(call: int, identity: str) -> str | None:
        return "MalformedDetail" if identity in ("a-3", "a-7") else None

    published, _ = _published(_Events(refuse), 10)
    assert published.sent == 8
    assert list(map(str, published.failures)) == [
        "record 3 (a-3): MalformedDetail, why",
        "record 7 (a-7): MalformedDetail, why",
    ]


def test_what_is_refused_for_good_is_not_sent_again() -> None:
    events = _Events(lambda call, identity: "NotAuthorizedForSourceException")
    published, pauses = _published(events, 3)
    assert len(events.calls) == 1
    assert len(published.failures) == 3
    assert pauses == []


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalFailure"])
def test_what_is_refused_for_the_moment_is_sent_again_by_itself(code: str) -> None:
    def refuse(call: int, identity: str) -> str | None:
        return code if call == 1 and identity in ("a-1", "a-9") else None

    events = _Events(refuse)
    published, pauses = _published(events, 10)
    assert events.calls[1:] == [["a-1", "a-9"]]
    assert (published.sent, published.failures) == (10, [])
    assert len(pauses) == 1


def test_pauses_grow_and_trying_ends() -> None:
    events = _Events(lambda call, identity: "ThrottlingException" if identity == "a-2" else None)
    published, pauses = _published(events, 5)
    assert len(events.calls) == 5
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]
    assert published.sent == 4
    assert [failure.code for failure in published.failures] == ["ThrottlingException"]


def test_an_attempt_that_no_event_carries_leaves_its_neighbours_alone() -> None:
    records = [*_records(2), ("record 2", Record.of_json(b"[]"))]
    events, published = _Events(), Published()
    Bus("leap-test", events).publish(records, published)
    assert events.calls == [["a-0", "a-1"]]
    assert (published.read, published.sent) == (3, 2)
    assert published.failures[0].name == "record 2"


def test_progress_counts_every_record_once() -> None:
    records = [*_records(12), ("bad", Record.of_json(b"{"))]
    steps: list[int] = []
    Bus("leap-test", _Events()).publish(records, Published(), steps.append)
    assert sum(steps) == 13


def test_a_call_that_fails_ends_it_and_says_where() -> None:
    class Denied(_Events):
        def put_events(self, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
            if len(self.calls) == 1:
                fault = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
                raise ClientError(fault, "PutEvents")
            return super().put_events(Entries)

    published = Published()
    with pytest.raises(PublishError) as raised:
        Bus("leap-test", Denied()).publish(_records(15), published)
    assert str(raised.value) == (
        "sent 10; the call that began with record 10 (a-10) failed: AccessDeniedException"
    )
    assert published.sent == 10


def test_an_answer_that_contradicts_itself_is_not_taken_for_success() -> None:
    class Odd(_Events):
        def put_events(self, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
            return super().put_events(Entries) | {"FailedEntryCount": 2}

    with pytest.raises(PublishError, match="refused 2 of 10 events, and names 0"):
        _published(Odd(), 10)


class _Described:
    def __init__(self, fault: Exception | None) -> None:
        self._fault = fault

    def describe_event_bus(self, Name: str) -> dict[str, str]:  # noqa: N803
        if self._fault is not None:
            raise self._fault
        return {"Name": Name}


def _refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "DescribeEventBus")


@pytest.mark.parametrize("fault", [None, _refusal("AccessDeniedException")])
def test_a_bus_that_may_be_there_is_used(fault: Exception | None) -> None:
    Bus("leap-test", _Described(fault)).must_exist()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (_refusal("ResourceNotFoundException"), "there is no event bus leap-test in this region"),
        (_refusal("ExpiredTokenException"), "cannot be reached: ExpiredTokenException"),
        (EndpointConnectionError(endpoint_url="x"), "cannot be reached: EndpointConnectionError"),
    ],
)
def test_a_bus_that_cannot_be_used_is_an_error(fault: Exception, said: str) -> None:
    with pytest.raises(PublishError, match=said):
        Bus("leap-test", _Described(fault)).must_exist()
