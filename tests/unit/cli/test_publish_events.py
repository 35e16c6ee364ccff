"""What one event can carry, and what one call can."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cli.commands.publish import named_records
from cli.events import Event, Failure, event_of
from leap_model.events import ATTEMPT, MOST_BYTES, SOURCE, calls
from leap_model.intake import Record
from leap_model.json_text import read_exactly
from tests.support import attempt


def _record(value: Any) -> Record:
    return Record.of_json(json.dumps(value).encode(), read_exactly)


def _event(value: Any, name: str = "record 7 of day.jsonl") -> Event:
    event = event_of(name, _record(value))
    assert isinstance(event, Event), event
    return event


def _failure(record: Record) -> str:
    failure = event_of("record 7 of day.jsonl", record)
    assert isinstance(failure, Failure), failure
    assert failure.code == "NotPublishable"
    return failure.message


def _padded(size: int) -> dict[str, Any]:
    """An attempt whose event has exactly so many bytes."""
    value = attempt(config={"note": ""})
    return attempt(config={"note": "x" * (size - _event(value).size)})


def test_an_event_carries_the_record_as_it_is() -> None:
    value = attempt(config={"größe": 1e-300, "n": 10**30}, completed_at="2026-01-02T08:59:00+01:00")
    assert json.loads(_event(value).detail) == value


def test_a_file_of_events_is_read_as_it_is(tmp_path: Path) -> None:
    value = attempt(config={"n": 10**30, "m": 2**64, "x": 0.1})
    file = tmp_path / "day.jsonl"
    file.write_text(json.dumps(value) + "\n")
    ((name, record),) = named_records((file,))
    event = event_of(name, record)
    assert isinstance(event, Event)
    assert json.loads(event.detail) == value


def test_an_event_is_named_by_place_and_attempt() -> None:
    assert _event(attempt()).name == "record 7 of day.jsonl (a-0001)"


def test_an_id_that_a_terminal_would_obey_names_nothing() -> None:
    assert _event(attempt(attempt_id="a\x1b[2J")).name == "record 7 of day.jsonl"


@pytest.mark.parametrize("throughput", [math.nan, math.inf, -math.inf])
def test_a_throughput_that_is_no_number_is_sent_as_null(throughput: float) -> None:
    value = attempt(throughput=throughput)
    assert json.loads(_event(value).detail) == value | {"throughput": None}


def test_a_rule_that_only_ingest_knows_is_left_to_it() -> None:
    value = attempt(num_trainers="four")
    assert json.loads(_event(value).detail) == value


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_anywhere_else_cannot_be_sent(value: float) -> None:
    assert "NaN" in _failure(_record(attempt(config={"lr": value})))


@pytest.mark.parametrize("body", [b"{", b"\xff", b""])
def test_what_is_no_json_cannot_be_sent(body: bytes) -> None:
    assert _failure(Record.of_json(body)) == "it must be one JSON object in UTF-8"


@pytest.mark.parametrize("value", [[], "text", 3, None, [attempt()]])
def test_what_is_no_object_cannot_be_sent(value: Any) -> None:
    assert _failure(_record(value)) == "it must be one JSON object"


def test_an_event_of_the_size_limit_is_sent() -> None:
    event = _event(_padded(MOST_BYTES))
    assert len((SOURCE + ATTEMPT + event.detail).encode()) == event.size == MOST_BYTES


def test_an_event_of_a_byte_more_is_refused_with_its_size() -> None:
    assert _failure(_record(_padded(MOST_BYTES + 1))) == (
        "an event has at most 1,000,000 bytes, this one 1,000,001"
    )


def test_an_event_of_1_2_mb_is_refused() -> None:
    assert "at most 1,048,576 bytes" in _failure(_record(attempt(config={"x": "y" * 1_200_000})))


def test_bytes_are_counted_and_not_characters() -> None:
    event = Event("a", json.dumps({"x": "ü"}, ensure_ascii=False))
    assert event.size == len(SOURCE) + len(ATTEMPT) + len('{"x": "u"}') + 1


def _calls(events: list[Event]) -> list[list[Event]]:
    return list(calls(events, lambda event: event.size))


def test_a_call_has_at_most_ten_entries_in_their_order() -> None:
    events = [Event(str(number), "{}") for number in range(21)]
    sizes = [len(batch) for batch in _calls(events)]
    assert sizes == [10, 10, 1]
    assert [event for batch in _calls(events) for event in batch] == events


def test_a_call_has_at_most_as_many_bytes_as_an_event() -> None:
    big, small = _event(_padded(400_000)), Event("small", "{}")
    assert [len(batch) for batch in _calls([big, big, big, small])] == [2, 2]
    every = _calls([_event(_padded(MOST_BYTES)), small])
    assert [len(batch) for batch in every] == [1, 1]


def test_nothing_makes_no_call() -> None:
    assert _calls([]) == []
