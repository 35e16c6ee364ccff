"""PutEvents within its limits, and what it did not take."""

import json
from typing import Any

import pytest

import functions.rank.bus
from functions.rank.bus import Bus
from leap_model.events import MOST_BYTES

OWN = len("leap.launcher") + len("Ranking Served")


class Events:
    """A client that notes what it is given and does what a test wants."""

    def __init__(self, *outcomes: int | Exception) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self.outcomes = list(outcomes)

    def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - as boto3
        self.calls.append(Entries)
        outcome = self.outcomes.pop(0) if self.outcomes else 0
        if isinstance(outcome, Exception):
            raise outcome
        return {"FailedEntryCount": outcome, "Entries": []}


def _detail(size: int, character: str = "x") -> str:
    """A detail whose event has that many bytes."""
    width = len(character.encode("utf-8", "surrogatepass"))
    return json.dumps(character * ((size - OWN - 2) // width), ensure_ascii=False)


def test_an_event_is_a_ranking_that_was_served() -> None:
    events = Events()
    assert Bus("leap-prod", events).send(['{"ranking_id":"r"}']) == 0
    assert events.calls == [
        [
            {
                "Source": "leap.launcher",
                "DetailType": "Ranking Served",
                "EventBusName": "leap-prod",
                "Detail": '{"ranking_id":"r"}',
            }
        ]
    ]


@pytest.mark.parametrize(
    ("count", "calls"), [(0, []), (10, [10]), (11, [10, 1]), (25, [10, 10, 5])]
)
def test_a_call_has_ten_events_at_most(count: int, calls: list[int]) -> None:
    events = Events()
    assert Bus("b", events).send([str(number) for number in range(count)]) == 0
    assert [len(call) for call in events.calls] == calls
    assert [entry["Detail"] for call in events.calls for entry in call] == [
        str(number) for number in range(count)
    ]


def test_a_call_has_a_megabyte_at_most() -> None:
    events = Events()
    half = _detail(MOST_BYTES // 2)
    assert Bus("b", events).send([half, half, half]) == 0
    assert [len(call) for call in events.calls] == [2, 1]


@pytest.mark.parametrize("character", ["x", "é", "\ud800"])
def test_an_event_beyond_a_megabyte_is_not_sent_and_counted(character: str) -> None:
    events = Events()
    fit, large = _detail(MOST_BYTES - 4, character), _detail(MOST_BYTES + 4, character)
    assert Bus("b", events).send([large, fit, large]) == 2
    assert [[entry["Detail"] for entry in call] for call in events.calls] == [[fit]]


def test_what_the_bus_refuses_is_counted() -> None:
    events = Events(2, 1)
    assert Bus("b", events).send([str(number) for number in range(11)]) == 3


def test_a_call_that_fails_counts_its_events_and_stops_no_other() -> None:
    events = Events(OSError("no network"), 0)
    assert Bus("b", events).send([str(number) for number in range(11)]) == 10
    assert len(events.calls) == 2


def test_a_client_is_made_when_something_is_first_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    events = Events()

    def client(service: str, *_: Any) -> Events:
        made.append(service)
        return events

    monkeypatch.setattr(functions.rank.bus, "client", client)
    bus = Bus("b")
    assert made == []
    bus.send(["1"])
    bus.send(["2"])
    assert (made, len(events.calls)) == (["events"], 2)
