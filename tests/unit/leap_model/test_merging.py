"""Merging small files: the same attempts before, between and after, whatever else goes on."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leap_model import merging
from leap_model.errors import StoreError
from leap_model.intake import Counts, Record, take_in
from leap_model.merging import Merged, merge
from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore
from leap_model.table import SCHEMA, is_appended, is_merged
from tests.support import NOW, append_each, attempt, parquet_bytes, stored_table
from tests.unit.ingest.deliveries import MemoryStore

DAYS = ("2026-01-02", "2026-01-03")
AFTER = date(2026, 1, 4)


def _attempts(count: int, day: str = DAYS[0], first: int = 0) -> list[dict[str, Any]]:
    return [
        attempt(attempt_id=f"a-{at:04}", completed_at=f"{day}T08:00:00Z", throughput=100.0 + at)
        for at in range(first, first + count)
    ]


def _read(store: LocalStore) -> pa.Table:
    return read_days(store, partition_days(store).items(), SCHEMA.names).whole().table


def _seen(store: LocalStore) -> pa.Table:
    """What every reader of LEAP sees."""
    return distinct(_read(store))


@pytest.fixture
def small(store: LocalStore) -> LocalStore:
    """Two days of files, with an attempt that came again later and one that came twice."""
    for day in DAYS:
        append_each(store, *_attempts(20, day, first=20 * DAYS.index(day)))
    append_each(store, attempt(attempt_id="a-0003", completed_at="2026-01-02T09:00:00Z"))
    append_each(store, attempt(attempt_id="a-0004", completed_at="2026-01-03T09:00:00Z"))
    again = [*_attempts(1), *_attempts(1, first=90)]
    records = [Record.of_json(json.dumps(entry).encode()) for entry in again]
    take_in(store, records, Counts(), NOW + 1, look_up=False)
    return store


def test_days_become_one_file_each_of_the_same_attempts(small: LocalStore) -> None:
    before, files = _seen(small), len(small.keys("attempts"))
    assert merge(small, AFTER) == Merged(days=2, files=files, into=2)
    keys = small.keys("attempts")
    assert [is_merged(key) for key in keys] == [True, True]
    assert _seen(small).equals(before)
    assert len(_read(small)) == files  # superseded records stay, the one that came twice is once
    assert merge(small, AFTER) == Merged()
    assert small.keys("attempts") == keys


def test_a_day_is_merged_when_it_is_over_and_has_enough(small: LocalStore) -> None:
    first, second = (partition_days(small)[date.fromisoformat(day)] for day in DAYS)
    assert merge(small, date(2026, 1, 2)) == Merged()
    assert merge(small, date(2026, 1, 3)) == Merged(1, len(first), 1)
    assert merge(small, AFTER, least=len(second) + 1) == Merged()
    assert merge(small, AFTER, least=len(second)) == Merged(1, len(second), 1)


def test_what_comes_later_is_merged_apart(small: LocalStore) -> None:
    merge(small, AFTER)
    append_each(small, *_attempts(15, first=100))
    assert merge(small, AFTER) == Merged()
    append_each(small, *_attempts(1, first=200))
    before = _seen(small)
    assert merge(small, AFTER) == Merged(1, 16, 1)
    assert _seen(small).equals(before)
    assert len(small.keys("attempts/dt=2026-01-02")) == 2


def test_a_merged_file_is_full_at_some_rows(
    small: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "MOST_ROWS", 5)
    before = _seen(small)
    done = merge(small, AFTER)
    assert done.into == sum(map(is_merged, small.keys("attempts"))) > 6
    assert _seen(small).equals(before)
    for key in filter(is_merged, small.keys("attempts")):
        assert len(pq.ParquetFile(small.root / key).read()) <= 5


FOREIGN: dict[str, Callable[[pa.Table], bytes]] = {
    "of another name": parquet_bytes,
    "with more columns": lambda table: parquet_bytes(
        table.append_column("more", pa.array(range(len(table))))
    ),
    "broken": lambda table: b"PAR1 and nothing more",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_leap_did_not_write_stays_as_it_is(store: LocalStore, kind: str) -> None:
    append_each(store, *_attempts(30))
    name = "part-0" if kind == "of another name" else "f" * 32
    key = f"attempts/dt={DAYS[0]}/{name}.parquet"
    content = FOREIGN[kind](stored_table(_attempts(3, first=500)))
    store.create(key, content)
    before = _read_all(store)
    assert merge(store, AFTER) == Merged(1, 30, 1)
    assert store.read(key) == content
    assert _read_all(store).equals(before)


def _read_all(store: LocalStore) -> pa.Table:
    """With files that cannot be read left out, however many they are."""
    return distinct(read_days(store, partition_days(store).items(), SCHEMA.names).table)


class Cut(MemoryStore):
    """A store that fails at its n-th write or expiry, once."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 10**9

    def _cut(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise StoreError("the machine went away")

    def create(self, key: str, content: bytes) -> bool:
        self._cut()
        return super().create(key, content)

    def expire(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._cut()
            super().expire([key])


def test_wherever_a_merge_ends_nothing_is_lost_and_the_next_one_goes_on() -> None:
    ended = 0
    for at in range(60):
        store = Cut()
        for day in DAYS:
            append_each(store, *_attempts(18, day, first=18 * DAYS.index(day)))
        before = _seen(store)
        store.left = at
        try:
            merge(store, AFTER)
        except StoreError:
            ended += 1
        assert _read(store).num_rows == before.num_rows  # what was merged is not read twice
        assert _seen(store).equals(before)
        store.left = 10**9
        append_each(store, *_attempts(16, DAYS[0], first=700))
        whole = _seen(store)
        merge(store, AFTER, least=1)
        assert _seen(store).equals(whole)
        assert _read(store).num_rows == whole.num_rows
        assert not any(map(is_appended, store.keys("attempts")))
    assert 30 < ended < 60


class Busy(LocalStore):
    """A store into which others write whenever something is written or let go."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.others: list[Callable[[], None]] = []

    def create(self, key: str, content: bytes) -> bool:
        if self.others:
            self.others.pop()()
        return super().create(key, content)

    def expire(self, keys: Sequence[str]) -> None:
        if self.others:
            self.others.pop()()
        super().expire(keys)


def test_what_is_written_meanwhile_stays(tmp_path: Path) -> None:
    store, beside = Busy(tmp_path), LocalStore(tmp_path)
    append_each(beside, *_attempts(20))
    more = _attempts(6, first=300)
    store.others = [lambda entry=entry: append_each(beside, entry) for entry in more]  # type: ignore[misc]
    assert merge(store, AFTER) == Merged(1, 20, 1)
    ids = {f"a-{at:04}" for at in (*range(20), *range(300, 306))}
    written = 6 - len(store.others)
    assert written >= 2
    assert set(_seen(beside)["attempt_id"].to_pylist()) == ids - {
        entry["attempt_id"] for entry in more[: 6 - written]
    }


def test_a_batch_that_is_delivered_again_counts_once(small: LocalStore) -> None:
    before = _seen(small)
    merge(small, AFTER)
    append_each(small, *_attempts(20))
    assert _seen(small).equals(before)
    assert merge(small, AFTER, least=2) == Merged()
    assert not any(map(is_appended, small.keys("attempts")))


def test_a_reader_who_listed_before_reads_all_the_same(small: LocalStore) -> None:
    before, listed = _seen(small), partition_days(small)
    merge(small, AFTER)
    read = read_days(small, listed.items(), SCHEMA.names).whole()
    assert distinct(read.table).equals(before)
    assert read.skipped == ()


def test_two_merges_at_once_lose_nothing(tmp_path: Path) -> None:
    store, beside = Busy(tmp_path), LocalStore(tmp_path)
    append_each(beside, *_attempts(40))
    before = _seen(beside)
    store.others = [lambda: _merged_by(beside)] * 2
    merge(store, AFTER)
    assert _seen(beside).equals(before)
    assert _read(beside).num_rows == before.num_rows


def _merged_by(store: LocalStore) -> None:
    merge(store, AFTER)


def test_a_merged_file_that_is_broken_hides_nothing() -> None:
    store = Cut()
    append_each(store, *_attempts(20))
    before = _seen(store)
    store.left = 1  # merged, and nothing let go
    with pytest.raises(StoreError):
        merge(store, AFTER)
    (merged,) = filter(is_merged, store.keys("attempts"))
    store.objects[merged] = b"PAR1 and nothing more"
    assert _read_all(store).equals(before)
