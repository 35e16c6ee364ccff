"""A store that stops in time to say what it did not write."""

from typing import Any

import pytest

from functions.ingest.batch import take_batch
from functions.ingest.timed_store import BUDGET, SHARE, TimedStore
from leap_model.errors import StoreError
from tests.support import attempt
from tests.unit.ingest.deliveries import NOW, attempts


class _Bucket:
    """Takes every object; each takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 100.0
        self.taken: list[str] = []

    def put_object(self, **request: Any) -> dict[str, str]:
        self.now += self.seconds
        self.taken.append(request["Key"])
        return {"ETag": "1"}


def _store(bucket: _Bucket) -> TimedStore:
    store = TimedStore("fleet", s3=bucket)
    store.clock = lambda: bucket.now
    return store


def test_without_a_limit_it_is_a_store_like_any_other() -> None:
    bucket = _Bucket(seconds=1e6)
    store = _store(bucket)
    assert store.create("a", b"x")
    assert store.create("b", b"x")
    assert bucket.taken == ["a", "b"]


def test_no_write_begins_when_most_of_the_time_is_gone() -> None:
    bucket = _Bucket(seconds=25.0)
    store = _store(bucket)
    store.allow(60)
    assert store.create("a", b"x")
    assert store.create("b", b"x")
    with pytest.raises(StoreError, match=r"^c was not tried: no time is left$"):
        store.create("c", b"x")
    store.allow(60)
    assert store.create("c", b"x")


def test_the_messages_of_partitions_that_were_not_tried_come_again() -> None:
    bucket = _Bucket(seconds=25.0)
    store = _store(bucket)
    store.allow(60)
    entries = [
        attempt(attempt_id=f"a{day}", completed_at=f"2025-12-{day}T12:00:00Z")
        for day in range(20, 25)
    ]
    outcome = take_batch(store, attempts(*entries), NOW)
    assert outcome.failed() == ["m3", "m4", "m5"]
    assert len(bucket.taken) == outcome.counts.stored == 2


def test_a_write_that_begins_last_ends_within_a_minutes_invocation() -> None:
    worst = (BUDGET.connect_s + BUDGET.read_s) * BUDGET.attempts
    pauses = sum(2.0**at for at in range(BUDGET.attempts - 1))
    assert worst + pauses <= 60 * (1 - SHARE)
