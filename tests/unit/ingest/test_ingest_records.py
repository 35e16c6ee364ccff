"""What a record may hold: the contract's rules, met at the queue."""

import base64
import json
import math
import time
from typing import Any

import pytest

from functions.ingest.batch import take_batch
from leap_model.intake import Counts, Record, take_in
from tests.support import attempt
from tests.unit.ingest.deliveries import (
    NOW,
    MemoryStore,
    attempts,
    days,
    envelope,
    ids,
    rejected,
    rows,
    sent,
)


def _with(field: str, text: str) -> str:
    """An envelope whose attempt has this JSON text, legal or not, for a field."""
    return envelope(attempt(**{field: "?"})).replace(f'"{field}": "?"', f'"{field}": {text}')


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("NaN", math.nan),
        ("Infinity", math.inf),
        ("1e999", math.inf),
        ("0", 0.0),
        ("-5", -5.0),
        ("1e-320", 1e-320),
        ("null", None),
    ],
)
def test_a_throughput_that_is_no_measurement_is_kept_in_the_store(
    text: str, kept: float | None
) -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(_with("throughput", text))], NOW)
    (value,) = rows(store)["throughput"].to_pylist()
    assert value == kept or (math.isnan(value) and kept is not None and math.isnan(kept))
    assert outcome.counts.rejected == 0


@pytest.mark.parametrize("text", ["true", '"64"', '" 64 "', "64.5", "null", "[]", "NaN", "1e999"])
def test_what_is_no_integer_is_rejected_and_counted_by_its_rule(text: str) -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(_with("num_trainers", text))], NOW)
    assert outcome.counts.rejected_reasons == {
        "num_trainers must be an integer from 1 to 1,000,000": 1
    }
    assert rejected(store)[0]["field"] == "num_trainers"
    assert outcome.failed() == []


@pytest.mark.parametrize("text", ["64", "64.0", "6.4e1"])
def test_a_whole_number_is_an_integer_however_it_is_written(text: str) -> None:
    store = MemoryStore()
    take_batch(store, [sent(_with("num_trainers", text))], NOW)
    assert rows(store)["num_trainers"].to_pylist() == [64]


@pytest.mark.parametrize(
    "text",
    [
        *("1767225600", "1767225600000", '"1767225600"', '"2026-01-02T08:59:00"'),
        *('"2014-12-31T23:59:59Z"', '"2026-01-03T09:00:00.000001Z"', '"57971-01-01T00:00:00Z"'),
    ],
)
def test_a_time_without_unit_or_zone_or_sense_is_rejected(text: str) -> None:
    store = MemoryStore()
    take_batch(store, [sent(_with("completed_at", text))], NOW)
    assert [line["field"] for line in rejected(store)] == ["completed_at"]
    assert store.keys("attempts") == []


@pytest.mark.parametrize(
    "body",
    [
        *("", " ", "null", "[]", "{", "{}", "0", "true", '"//79"', "not json", "\ufeff{}"),
        *("[" * 50_000, '{"a":' * 50_000, "9" * 5_000, '"\ud800"', "\x00", "{}\n{}"),
    ],
    ids=lambda body: ascii(body[:12]),
)
def test_a_body_that_is_no_event_is_rejected_without_a_word_lost(body: str) -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(body)], NOW)
    (line,) = rejected(store)
    kept = line["body"].encode() if "body" in line else base64.b64decode(line["body_base64"])
    assert kept == body.encode("utf-8", "surrogatepass")
    assert (outcome.counts.rejected, outcome.failed()) == (1, [])


def test_a_body_larger_than_the_queue_carries_is_rejected_by_our_own_limit() -> None:
    store = MemoryStore()
    large = envelope(attempt(config={"a": "x" * 1_500_000}))
    just = envelope(attempt(note="x" * (1024 * 1024 - len(envelope(attempt(note=""))))))
    assert len(just) == 1024 * 1024
    outcome = take_batch(store, [sent(large, "large"), sent(just, "just")], NOW)
    assert (outcome.counts.stored, outcome.counts.rejected) == (1, 1)


def test_attempts_are_filed_by_the_utc_day_of_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        edges = [
            "2026-01-01T23:30:00-08:00",
            "2026-01-02T00:00:00Z",
            "2026-01-01T23:59:59.999999Z",
            "2026-01-02T05:29:59+05:30",
        ]
        entries = [attempt(attempt_id=edge, completed_at=edge) for edge in edges]
        take_batch(store, attempts(*entries), NOW)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert days(store) == ["2026-01-01", "2026-01-02"]
    first, second = ({row["attempt_id"] for row in rows_of(store, day)} for day in days(store))
    assert first == set(edges[2:])
    assert second == set(edges[:2])


def rows_of(store: MemoryStore, day: str) -> list[dict[str, Any]]:
    """The rows that lie in a day's folder."""
    part = MemoryStore()
    part.objects = {key: value for key, value in store.objects.items() if f"dt={day}/" in key}
    found: list[dict[str, Any]] = rows(part).to_pylist()
    return found


def test_a_late_attempt_is_filed_by_its_own_day() -> None:
    store = MemoryStore()
    take_batch(store, attempts(attempt(completed_at="2025-11-30T12:00:00Z")), NOW)
    assert days(store) == ["2025-11-30"]


def test_the_queue_stores_what_an_import_of_the_same_attempts_stores() -> None:
    entries = [
        attempt(),
        attempt(attempt_id="b", config={"x": {"nested": 1}, "lr": 64.0}, allocation=None),
        attempt(attempt_id="c", throughput=None, architecture={"layers": 12, "none": None}),
        attempt(attempt_id="d", completed_at="2026-01-01T00:00:00+02:00", ranking={"reason": "x"}),
    ]
    queue, imported = MemoryStore(), MemoryStore()
    take_batch(queue, attempts(*entries), NOW)
    records = [Record.of_json(json.dumps(entry).encode()) for entry in entries]
    take_in(imported, records, Counts(), NOW)
    assert queue.objects == imported.objects
    assert ids(queue) == ["a-0001", "b", "c", "d"]
