"""The gate and the record of moves: nights after a rollback, and nights whose move fails."""

import logging
from typing import Any

import pytest

from functions.retrain.nightly import retrain
from leap_model import moves
from leap_model.errors import StoreError
from leap_model.moves import read_moves, roll_back, withdrawn
from leap_model.pointer import write_pointer
from leap_model.store import LocalStore
from leap_model.times import now_us, parse_time
from tests.unit.retrain.nights import (
    LATER,
    LATEST,
    TINY,
    add,
    night,
    pointer_of,
    published_and_pointed,
    serving,
    versions,
)


@pytest.fixture
def rolled_back(full: LocalStore) -> tuple[str, str]:
    """Two nights of which the second was rolled back: the version served, the one withdrawn."""
    first, second = night(full)["version"], night(full, LATER)["version"]
    assert roll_back(full, "local", "throughput").pointer.version == first
    return first, second


ROLLED_BACK = "the stage was rolled back from this night's model; --force points anyway"


def _late(full: LocalStore, attempts: list[dict[str, Any]], count: int = 1) -> None:
    """Attempts of a training day that arrive only now: every night has another version."""
    add(full, [{**a, "attempt_id": f"late-{at}"} for at, a in enumerate(attempts[:count])])


def test_the_night_that_was_rolled_back_from_is_not_pointed_at_when_run_again(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    first, second = rolled_back
    again = night(full, LATER)
    assert again["version"] == second
    assert published_and_pointed(again) == (True, False)
    assert again["reason"] == ROLLED_BACK
    assert serving(full) == first


def test_nor_is_another_version_of_that_night(
    full: LocalStore, attempts: list[dict[str, Any]], rolled_back: tuple[str, str]
) -> None:
    first, second = rolled_back
    known = {first, second}
    for count in (1, 2):
        _late(full, attempts, count)
        again = night(full, LATER)
        assert again["version"] not in known
        known.add(again["version"])
        assert published_and_pointed(again) == (True, False)
        assert again["reason"] == ROLLED_BACK
    assert versions(full) == [first, second, first]


def test_another_version_of_a_night_that_was_rolled_back_from_is_pointed_at_by_force(
    full: LocalStore, attempts: list[dict[str, Any]], rolled_back: tuple[str, str]
) -> None:
    first, second = rolled_back
    _late(full, attempts)
    again = night(full, LATER, force=True)
    assert again["pointed"]
    assert versions(full) == [first, second, first, again["version"]]
    assert withdrawn(read_moves(full, "local", "throughput")) == {second}


def test_a_night_that_is_no_longer_withdrawn_is_pointed_at_whatever_its_version(
    full: LocalStore, attempts: list[dict[str, Any]], rolled_back: tuple[str, str]
) -> None:
    assert roll_back(full, "local", "throughput", rolled_back[1]).action == "forward"
    assert night(full, LATER)["pointed"]
    _late(full, attempts)
    again = night(full, LATER)
    assert again["pointed"]
    assert serving(full) == again["version"] not in rolled_back


def test_the_night_that_was_rolled_back_to_is_pointed_at_when_run_again(
    full: LocalStore, attempts: list[dict[str, Any]], rolled_back: tuple[str, str]
) -> None:
    assert night(full)["pointed"]
    assert serving(full) == rolled_back[0]
    _late(full, attempts)
    again = night(full)
    assert again["pointed"]
    assert serving(full) == again["version"] not in rolled_back


def test_force_points_at_a_version_that_was_rolled_back_from(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    first, second = rolled_back
    assert night(full, LATER, force=True)["pointed"]
    assert versions(full) == [first, second, first, second]
    assert withdrawn(read_moves(full, "local", "throughput")) == set()


def test_after_a_rollback_the_next_night_moves_forward_again(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    first, _ = rolled_back
    third = night(full, LATEST)
    assert third["pointed"]
    assert third["live"]["version"] == first
    assert serving(full) == third["version"]
    assert roll_back(full, "local", "throughput").pointer.version == first


def test_a_night_is_pointed_at_from_then_on_and_its_record_tells_what_it_replaced(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    before, started = pointer_of(full), now_us()
    night(full, LATER, force=True)
    found, pointer = read_moves(full, "local", "throughput"), pointer_of(full)
    assert pointer is not None
    assert pointer.version == rolled_back[1] == found[1].pointer.version
    assert pointer != found[1].pointer
    assert started <= parse_time(pointer.published_at) <= now_us()
    assert (found[-1].moved_at, found[-1].replaced) == (pointer.published_at, before)
    assert len({move.pointer for move in found}) == len(found) == 4


def test_where_a_record_cannot_be_read_a_night_is_pointed_at_by_force_only(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    unreadable = full.root / "pointers/local/throughput.moves/00000003.json"
    unreadable.unlink()
    unreadable.symlink_to(unreadable)
    with pytest.raises(StoreError, match=r"throughput\.moves/00000003\.json cannot be read: "):
        night(full, LATER)
    assert serving(full) == rolled_back[0]
    assert night(full, LATER, force=True)["pointed"]
    assert serving(full) == rolled_back[1]


def test_a_stage_rolled_back_does_not_hold_up_another(
    full: LocalStore, rolled_back: tuple[str, str]
) -> None:
    assert retrain(full, "dev", LATER, TINY)["version"] == rolled_back[1]
    pointer = pointer_of(full, "dev")
    assert pointer is not None
    assert pointer.version == rolled_back[1]


def test_a_broken_record_of_moves_stops_no_night(
    full: LocalStore, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = night(full)["version"], night(full, LATER)["version"]
    (full.root / "pointers/local/throughput.moves/00000002.json").write_bytes(b"{")
    caplog.set_level(logging.WARNING)
    third = night(full, LATEST)
    assert third["pointed"]
    assert "00000002.json is no record of a move" in caplog.text
    assert versions(full) == [first, second, third["version"]]
    assert roll_back(full, "local", "throughput").pointer.version == second


def test_a_night_whose_move_cannot_be_recorded_fails_and_is_not_pointed_at(
    full: LocalStore,
) -> None:
    in_the_way = full.root / "pointers/local/throughput.moves"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file where the folder of records belongs")
    with pytest.raises(StoreError, match=r"throughput\.moves/00000001\.json cannot be written: "):
        night(full)
    assert pointer_of(full) is None
    assert len(full.keys("models/throughput")) > 0
    in_the_way.unlink()
    first = night(full)
    assert first["pointed"]
    assert versions(full) == [first["version"]] == [serving(full)]


def test_a_later_night_whose_move_cannot_be_recorded_leaves_the_pointer_where_it_was(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, create = night(full), LocalStore.create

    def creating(store: LocalStore, key: str, content: bytes) -> bool:
        if ".moves/" in key:
            raise StoreError("no space left")
        return create(store, key, content)

    before = pointer_of(full)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "create", creating)
        with pytest.raises(StoreError, match="no space left"):
            night(full, LATER)
    assert pointer_of(full) == before
    assert versions(full) == [first["version"]]
    second = night(full, LATER)
    assert versions(full) == [first["version"], second["version"]]


def test_a_night_that_lost_the_race_is_not_pointed_at_and_not_among_the_moves(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = night(full)

    def writing(*args: Any) -> None:
        monkeypatch.setattr(moves, "write_pointer", write_pointer)
        assert night(full, LATEST)["pointed"]
        write_pointer(*args)

    monkeypatch.setattr(moves, "write_pointer", writing)
    beaten = night(full, LATER)
    assert published_and_pointed(beaten) == (True, False)
    assert beaten["reason"] == "another run moved the pointer at the same time"
    assert beaten["version"] not in versions(full)
    assert versions(full) == [first["version"], serving(full)]
