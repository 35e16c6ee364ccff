"""Taking records in: partition by partition, with or without a look at what is there."""

import gc
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from leap_model.errors import FieldError, StoreError
from leap_model.intake import Counts, Record, Unstored, take_in
from leap_model.rejected import Rejected
from leap_model.store import LocalStore
from tests.support import NOW, attempt

DAYS = ("2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z")


class Failing(LocalStore):
    """A store that cannot write keys with some text, and remembers what it was asked."""

    def __init__(self, root: Path, part: str = "nowhere") -> None:
        super().__init__(root)
        self.part = part
        self.listed: list[str] = []

    def keys(self, prefix: str) -> list[str]:
        self.listed.append(prefix)
        return super().keys(prefix)

    def create(self, key: str, content: bytes) -> bool:
        if self.part in key:
            raise StoreError(f"{key} cannot be written: it is full")
        return super().create(key, content)


def _records(*entries: dict[str, Any]) -> list[Record]:
    return [Record.of_json(json.dumps(entry).encode()) for entry in entries]


def _two_days_and_a_bad_one() -> list[Record]:
    entries = (attempt(attempt_id=day, completed_at=day) for day in DAYS)
    return [*_records(*entries), Record.of_json(b"not json")]


@pytest.mark.parametrize("part", ["dt=2026-01-01", "dt=2026-01-02", "rejected"])
def test_a_partition_that_cannot_be_written_is_an_error(tmp_path: Path, part: str) -> None:
    with pytest.raises(StoreError, match="it is full"):
        take_in(Failing(tmp_path, part), _two_days_and_a_bad_one(), Counts(), NOW)


@pytest.mark.parametrize(
    ("part", "at"), [("dt=2026-01-01", 0), ("dt=2026-01-02", 1), ("rejected", 2)]
)
def test_it_is_set_aside_with_its_own_records_where_that_is_asked_for(
    tmp_path: Path, part: str, at: int
) -> None:
    store, counts = Failing(tmp_path, part), Counts()
    records = [one._replace(origin=str(n)) for n, one in enumerate(_two_days_and_a_bad_one())]
    unstored: list[Unstored] = []
    take_in(store, records, counts, NOW, unstored=unstored)
    (lost,) = unstored
    assert lost.origins == (records[at].origin,)
    assert "it is full" in str(lost.fault)
    assert (counts.read, counts.stored + counts.rejected) == (3, 2)
    assert len(store.keys("attempts") + store.keys("rejected")) == 2


def test_days_are_read_first_unless_that_is_not_asked_for(tmp_path: Path) -> None:
    seen, unseen = Failing(tmp_path / "a"), Failing(tmp_path / "b")
    first, second = _records(attempt()), _records(attempt(), attempt(attempt_id="new"))
    counted = []
    for store, look_up in ((seen, True), (unseen, False)):
        for batch in (first, second, second):
            counts = Counts()
            take_in(store, batch, counts, NOW, look_up=look_up)
            counted.append((counts.stored, counts.duplicates))
    assert counted == [(1, 0), (1, 1), (0, 2), (1, 0), (2, 0), (0, 2)]
    assert set(seen.listed) == {"attempts/dt=2026-01-02"}
    assert unseen.listed == []


def test_a_record_arrives_when_it_says(store: LocalStore) -> None:
    ahead = attempt(completed_at="2026-03-03T00:00:00Z")
    late = Record(b"late", ahead, received_at=NOW + 2 * 86_400_000_000)
    early = Record(b"early", ahead)
    counts = Counts()
    take_in(store, [late, early], counts, NOW)
    assert (counts.stored, counts.rejected) == (1, 1)
    (key,) = store.keys("rejected")
    assert key.startswith("rejected/dt=2026-03-01/")


def test_a_fault_that_was_found_before_is_the_one_on_record(store: LocalStore) -> None:
    fault = FieldError("source", "elsewhere", "ours")
    counts = Counts()
    take_in(store, [Record(b"{}", attempt(), fault)], counts, NOW)
    (line,) = (store.read(store.keys("rejected")[0]) or b"").splitlines()
    assert json.loads(line)["reason"] == 'source is "elsewhere"; it must be ours'
    assert counts.rejected_reasons == {"source must be ours": 1}


def test_rejected_batches_that_read_the_same_are_told_apart(store: LocalStore) -> None:
    batches = [[b"a\nb"], [b"a", b"b"], [b"\xff"], [b"/w=="]]
    for bodies in batches:
        take_in(store, [Record.of_json(body) for body in bodies], Counts(), NOW)
    lines = [line for key in store.keys("rejected") for line in (store.read(key) or b"").split()]
    assert len(store.keys("rejected")) == len(batches)
    assert b"".join(lines).count(b'"reason":') == 5


def test_a_rejected_batch_in_another_order_is_the_same_object(store: LocalStore) -> None:
    records = [Record.of_json(body) for body in (b"a", b"b", b"b")]
    for batch in (records, records[::-1]):
        take_in(store, batch, Counts(), NOW)
    assert len(store.keys("rejected")) == 1


def test_rules_name_no_value_that_a_sender_gave() -> None:
    fault = FieldError("config.secret-name", "secret", "a finite number")
    assert Rejected(b"", fault, NOW).rule == "config.* must be a finite number"


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_cycles_are_sought_again_after_a_batch_where_they_were_before(
    store: LocalStore, looked: bool, fails: bool
) -> None:
    seen: list[bool] = []

    def records() -> Iterator[Record]:
        seen.append(gc.isenabled())
        yield Record.of_json(json.dumps(attempt()).encode())
        if fails:
            raise OSError("the file ends here")

    before = gc.isenabled()
    (gc.enable if looked else gc.disable)()
    try:
        with nullcontext() if not fails else pytest.raises(OSError, match="ends here"):
            take_in(store, records(), Counts(), NOW)
        assert (seen, gc.isenabled()) == ([False], looked)
    finally:
        (gc.enable if before else gc.disable)()
