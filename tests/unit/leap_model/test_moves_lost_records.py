"""Records of moves that are missing, broken, unreadable or cannot be written."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from leap_model.errors import StoreError
from leap_model.moves import read_moves, roll_back, withdrawn
from leap_model.pointer import read_pointer, write_pointer
from leap_model.store import LocalStore
from tests.unit.leap_model.moving import (
    ACTS,
    FOLDER,
    STAGE,
    Act,
    crash,
    each_act,
    move,
    published,
    recorded,
    records,
    refusal,
    served,
    serving,
    shown,
    told,
)


def test_a_pointer_from_before_there_were_records_is_shown_as_published(
    store: LocalStore,
) -> None:
    a = published(store, 11)
    write_pointer(store, *STAGE, a, None)
    assert read_moves(store, *STAGE) == [shown(a)]
    assert refusal(store) == f"the stage prod has served no version before {a.version}"
    b, c = (move(store, published(store, day)) for day in (12, 13))
    assert read_moves(store, *STAGE) == [shown(a), b, c]
    assert b.replaced == a
    backs = [roll_back(store, *STAGE) for _ in range(2)]
    assert [back.pointer.version for back in backs] == [b.pointer.version, a.version]
    assert read_moves(store, *STAGE) == [shown(a), b, c, *backs]


def test_so_it_is_after_a_move_that_was_never_made(store: LocalStore) -> None:
    a = published(store, 11)
    write_pointer(store, *STAGE, a, None)
    crash(store, ACTS["publish"])
    assert read_moves(store, *STAGE) == [shown(a)]
    b = move(store, published(store, 12))
    assert read_moves(store, *STAGE) == [shown(a), b]


LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "broken": lambda path: path.write_bytes(b"{"),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("at", range(5))
def test_a_move_whose_record_is_lost_is_shown_as_published_in_its_place(
    store: LocalStore, at: int, loss: str
) -> None:
    every = [move(store, published(store, day)) for day in (11, 12, 13)]
    every += [roll_back(store, *STAGE), move(store, published(store, 14))]
    LOSSES[loss](records(store)[at])
    every[at] = shown(every[at].pointer)
    assert read_moves(store, *STAGE) == every
    every.append(move(store, published(store, 15)))
    assert every[-1].replaced == every[-2].pointer
    assert read_moves(store, *STAGE) == every


def test_where_all_records_are_lost_what_is_served_is_known(store: LocalStore) -> None:
    served(store, 11, 12, 13)
    pointer, _ = read_pointer(store, *STAGE)
    assert pointer is not None
    shutil.rmtree(store.root / FOLDER)
    assert read_moves(store, *STAGE) == [shown(pointer)]
    assert refusal(store) == f"the stage prod has served no version before {pointer.version}"
    assert read_moves(store, *STAGE) == [shown(pointer)]
    made = move(store, published(store, 14))
    assert read_moves(store, *STAGE) == [shown(pointer), made]


def test_a_rollback_works_from_a_version_whose_record_is_lost(store: LocalStore) -> None:
    a, b, c = served(store, 11, 12, 13)
    records(store)[-1].unlink()
    assert told(roll_back(store, *STAGE)) == ("rollback", b, c)
    assert [version for _, version in recorded(store)] == [a, b, c, b]
    assert withdrawn(read_moves(store, *STAGE)) == {c}


@each_act
@pytest.mark.parametrize("loss", LOSSES)
def test_a_move_that_was_never_made_counts_for_nothing_where_the_last_one_s_record_is_lost(
    store: LocalStore, rolled: list[tuple[str, str]], action: str, loss: str
) -> None:
    crash(store, ACTS[action])
    LOSSES[loss](records(store)[-2])
    assert serving(store) == rolled[-1][1]
    assert recorded(store) == [*rolled[:-1], ("publish", rolled[-1][1])]
    (e,) = served(store, 15)
    assert recorded(store) == [*rolled[:-1], ("publish", rolled[-1][1]), ("publish", e)]


UNWRITABLE = [StoreError("no space left"), OSError(28, "No space left on device")]


@each_act
@pytest.mark.parametrize("fault", UNWRITABLE, ids=["StoreError", "OSError"])
def test_a_move_that_cannot_be_recorded_is_not_made(
    store: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    rolled: list[tuple[str, str]],
    action: str,
    fault: Exception,
) -> None:
    create = LocalStore.create

    def creating(store: LocalStore, key: str, content: bytes) -> bool:
        if ".moves/" in key:
            raise fault
        return create(store, key, content)

    before = {key: store.read(key) for key in store.keys("pointers")}
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "create", creating)
        with pytest.raises(type(fault)) as caught:
            ACTS[action](store)
    assert caught.value is fault
    assert {key: store.read(key) for key in store.keys("pointers")} == before
    made = ACTS[action](store)
    assert recorded(store) == [*rolled, (action, made.pointer.version)]


def test_a_first_move_that_cannot_be_recorded_is_not_made(store: LocalStore) -> None:
    in_the_way = store.root / FOLDER
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file where the folder of records belongs")
    with pytest.raises(StoreError, match=r"throughput\.moves/00000001\.json cannot be written: "):
        served(store, 11)
    assert serving(store) is None
    in_the_way.unlink()
    (a,) = served(store, 11)
    assert recorded(store) == [("publish", a)]


by_the_record = pytest.mark.parametrize("action", ["rollback", "forward"])


@by_the_record
def test_where_a_record_cannot_be_read_there_is_no_going_back(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    unreadable = store.root / FOLDER / "00000004.json"
    kept = unreadable.read_bytes()
    unreadable.unlink()
    unreadable.symlink_to(unreadable)
    before = read_pointer(store, *STAGE)
    acts: list[Act] = [ACTS[action], lambda store: read_moves(store, *STAGE)[-1]]
    for act in acts:
        with pytest.raises(StoreError) as caught:
            act(store)
        said = str(caught.value)
        assert said.startswith(f"{FOLDER}/00000004.json cannot be read: ")
        assert said.splitlines() == [said]
    assert read_pointer(store, *STAGE) == before
    assert len(records(store)) == len(rolled)
    unreadable.unlink()
    unreadable.write_bytes(kept)
    made = ACTS[action](store)
    assert recorded(store) == [*rolled, (action, made.pointer.version)]


@by_the_record
def test_an_error_of_the_disk_while_records_are_read_comes_through(
    store: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    rolled: list[tuple[str, str]],
    action: str,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "read", _failing)
        with pytest.raises(OSError, match="Input/output error"):
            ACTS[action](store)
    assert recorded(store) == rolled


def test_a_move_forward_needs_no_record_that_was_there_before(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, rolled: list[tuple[str, str]]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "read", _failing)
        made = ACTS["publish"](store)
    assert told(made) == ("publish", serving(store), rolled[-1][1])
    assert recorded(store) == [*rolled, ("publish", made.pointer.version)]


_read = LocalStore.read


def _failing(self: LocalStore, key: str) -> bytes | None:
    if ".moves/" in key:
        raise OSError(5, "Input/output error")
    return _read(self, key)
