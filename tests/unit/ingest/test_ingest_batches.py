"""A batch: what is delivered again counts once, and what could not be stored comes again."""

import json
import tracemalloc
from datetime import date

import pytest

from functions.ingest.batch import take_batch
from functions.ingest.message import Message
from leap_model.limits import DAY_US
from leap_model.times import parse_time, start_of
from tests.support import attempt, fleet
from tests.unit.ingest.deliveries import (
    NOW,
    MemoryStore,
    attempts,
    days,
    envelope,
    ids,
    ranking,
    rankings,
    rejected,
    rows,
    sent,
    served,
)

FIRST, SECOND = "2026-01-01T12:00:00Z", "2026-01-02T08:00:00Z"


def test_the_same_batch_again_in_any_order_writes_nothing() -> None:
    store = MemoryStore()
    batch = [*attempts(*fleet(20, days=2)), sent("not json", "bad"), *rankings(ranking())]
    late = NOW + 3 * DAY_US
    first = take_batch(store, batch, NOW)
    held = dict(store.objects)
    again = take_batch(store, batch[::-1], late)
    assert store.objects == held
    assert (first.counts.stored, first.counts.duplicates, first.rankings) == (20, 0, 1)
    assert (again.counts.stored, again.counts.duplicates, again.rankings) == (0, 20, 0)
    assert again.failed() == []


def test_one_attempt_under_two_messages_of_a_batch_is_one_row() -> None:
    store = MemoryStore()
    outcome = take_batch(store, attempts(attempt(), attempt()), NOW)
    assert len(rows(store)) == 1
    assert (outcome.counts.stored, outcome.counts.duplicates) == (1, 1)


def test_one_attempt_under_two_messages_of_two_batches_counts_once() -> None:
    store = MemoryStore()
    take_batch(store, attempts(attempt()), NOW)
    take_batch(store, attempts(attempt(attempt_id="other"), attempt()), NOW)
    assert ids(store) == ["a-0001", "other"]


def test_of_two_completions_of_one_attempt_the_later_counts_in_any_order() -> None:
    early, late = attempt(completed_at=FIRST), attempt(completed_at=SECOND)
    for order in ((early, late), (late, early)):
        together, apart = MemoryStore(), MemoryStore()
        take_batch(together, attempts(*order), NOW)
        for entry in order:
            take_batch(apart, attempts(entry), NOW)
        assert days(together) == ["2026-01-02"]
        assert days(apart) == ["2026-01-01", "2026-01-02"]
        assert ids(together) == ids(apart) == ["a-0001"]


def test_two_batches_of_one_day_are_two_objects() -> None:
    store = MemoryStore()
    for name in ("a", "b"):
        take_batch(store, attempts(attempt(attempt_id=name)), NOW)
    assert len(store.keys("attempts")) == 2
    assert ids(store) == ["a", "b"]


def test_nothing_is_read() -> None:
    class WriteOnly(MemoryStore):
        def keys(self, prefix: str) -> list[str]:
            raise AssertionError(prefix)

        def read(self, key: str) -> bytes | None:
            raise AssertionError(key)

        def size(self, key: str) -> int | None:
            raise AssertionError(key)

    outcome = take_batch(WriteOnly(), [*attempts(attempt()), sent("bad", "b")], NOW)
    assert (outcome.counts.stored, outcome.counts.rejected) == (1, 1)


def test_poison_between_good_ones_fails_no_message() -> None:
    store = MemoryStore()
    good = [sent(envelope(attempt(attempt_id=name)), name) for name in ("m1", "m3")]
    outcome = take_batch(store, [good[0], sent("{", "m2"), good[1]], NOW)
    assert (ids(store), len(rejected(store)), outcome.failed()) == (["m1", "m3"], 1, [])


def test_a_batch_of_nothing_but_poison_fails_no_message() -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(f"not json {at}", f"m{at}") for at in range(10)], NOW)
    assert (len(rejected(store)), outcome.counts.rejected, outcome.failed()) == (10, 10, [])


def test_no_messages_are_an_empty_outcome() -> None:
    store = MemoryStore()
    outcome = take_batch(store, [], NOW)
    assert (outcome.failed(), outcome.lag_s, store.writes) == ([], 0.0, [])


@pytest.mark.parametrize(
    ("part", "failing"),
    [
        ("attempts/dt=2026-01-01", ["m1", "m3"]),
        ("attempts/dt=2026-01-02", ["m2"]),
        ("attempts", ["m1", "m2", "m3"]),
        ("rejected", ["bad"]),
        ("rankings", ["r1"]),
        ("", ["bad", "m1", "m2", "m3", "r1"]),
        ("nowhere", []),
    ],
)
def test_a_partition_that_cannot_be_written_fails_its_own_messages_only(
    part: str, failing: list[str]
) -> None:
    store = MemoryStore(fails=lambda key: key.startswith(part))
    entries = [
        attempt(attempt_id=f"a{at}", completed_at=time)
        for at, time in enumerate((FIRST, SECOND, FIRST), 1)
    ]
    batch = [*attempts(*entries), sent("not json", "bad"), *rankings(ranking())]
    outcome = take_batch(store, batch, NOW)
    assert sorted(outcome.failed()) == failing
    store.fails = lambda key: False
    again = [message for message in batch if message.id in failing]
    assert take_batch(store, again, NOW).failed() == []
    assert ids(store) == ["a1", "a2", "a3"]
    assert (len(rejected(store)), len(served(store)), len(rows(store))) == (1, 1, 3)


def test_counts_are_of_what_is_on_record() -> None:
    store = MemoryStore(fails=lambda key: True)
    outcome = take_batch(store, [*attempts(attempt()), sent("bad", "b"), *rankings(ranking())], NOW)
    counts = outcome.counts
    assert (counts.stored, counts.rejected, counts.rejected_reasons) == (0, 0, {})
    assert outcome.rankings == 0


def test_a_message_whose_attempt_was_superseded_in_the_batch_fails_with_what_superseded_it() -> (
    None
):
    store = MemoryStore(fails=lambda key: "2026-01-02" in key)
    early, late = attempt(completed_at=FIRST), attempt(completed_at=SECOND)
    assert take_batch(store, attempts(early, late), NOW).failed() == ["m1", "m2"]


def test_a_message_delivered_twice_within_a_batch_fails_once() -> None:
    store = MemoryStore(fails=lambda key: True)
    (message,) = attempts(attempt())
    assert take_batch(store, [message, message], NOW).failed() == ["m1"]


def test_a_rejected_record_lies_in_the_day_its_message_was_sent() -> None:
    store = MemoryStore()
    midnight = start_of(date(2026, 1, 2))
    batch = [sent("before", "a", midnight - 1000), sent("after", "b", midnight)]
    for now in (midnight + 1000, midnight + DAY_US):
        take_batch(store, batch, now)
    assert days(store, "rejected") == ["2026-01-01", "2026-01-02"]
    assert [line["received_at"] for line in rejected(store)] == [
        "2026-01-01T23:59:59.999000Z",
        "2026-01-02T00:00:00Z",
    ]


def test_a_day_ahead_is_a_day_ahead_of_the_message_whenever_it_is_tried() -> None:
    edge = "2026-01-03T09:00:00Z"
    assert parse_time(edge) == NOW + DAY_US
    store = MemoryStore()
    batch = attempts(
        attempt(attempt_id="just", completed_at=edge),
        attempt(attempt_id="over", completed_at="2026-01-03T09:00:00.000001Z"),
    )
    for late in (0, 2 * DAY_US):
        take_batch(store, batch, NOW + late)
    assert ids(store) == ["just"]
    assert len(rejected(store)) == 1


def test_the_lag_is_that_of_the_oldest_message() -> None:
    batch = [Message(at, b"", NOW - seconds * 1_000_000) for at, seconds in (("a", 2), ("b", 90))]
    assert take_batch(MemoryStore(), batch, NOW).lag_s == 90.0


def test_a_thousand_messages_are_one_object_a_day() -> None:
    store = MemoryStore()
    outcome = take_batch(store, attempts(*fleet(1_000, days=2)), NOW)
    assert outcome.counts.stored == 1_000
    assert len(store.writes) == 2
    assert len(ids(store)) == 1_000


def test_six_megabytes_take_a_few_times_as_much_memory_and_leave_none_behind() -> None:
    notes = {f"note_{at}": f"{at:04}" * 100 for at in range(12)}
    bodies = [envelope(attempt(attempt_id=f"a{at}", config=notes)) for at in range(1_000)] + [
        json.dumps({"not": "an attempt", **notes})
    ] * 100
    payload = sum(map(len, bodies))
    assert payload > 5_500_000
    batch = [sent(body, f"m{at}") for at, body in enumerate(bodies)]

    def peak() -> int:
        store = MemoryStore()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        outcome = take_batch(store, batch, NOW)
        assert (outcome.counts.stored, outcome.counts.rejected) == (1_000, 100)
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        first, *later = [peak() for _ in range(3)]
    finally:
        tracemalloc.stop()
    assert first < 8 * payload
    assert max(later) < first * 1.2 + 1_000_000
