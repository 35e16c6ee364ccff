"""Moves of the pointer: each is on record, and the newest are read in their order."""

import json
from dataclasses import replace

import pytest

from leap_model.errors import ConflictError
from leap_model.moves import NEWEST, Move, RollbackError, move_pointer, read_moves, roll_back
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.store import LocalStore
from leap_model.times import format_time, now_us, parse_time
from tests.unit.leap_model.moving import (
    ACTS,
    FOLDER,
    SERVED,
    STAGE,
    crash,
    move,
    published,
    recorded,
    records,
    served,
    serving,
    shown,
    stamped,
    told,
)


def test_every_move_is_on_record_in_order(store: LocalStore) -> None:
    started = now_us()
    a, b = (move(store, published(store, day)).pointer for day in (11, 12))
    back = roll_back(store, *STAGE).pointer
    found = read_moves(store, *STAGE)
    assert [(entry.action, entry.replaced, entry.pointer) for entry in found] == [
        ("publish", None, a),
        ("publish", a, b),
        ("rollback", b, back),
    ]
    times = [parse_time(entry.moved_at) for entry in found]
    assert times == sorted(times)
    assert started <= times[0] <= times[-1] <= now_us()


def test_a_move_is_of_the_time_that_its_pointer_says_and_no_two_pointers_are_equal(
    store: LocalStore,
) -> None:
    a, _, c = served(store, 11, 12, 13)
    for version in (a, c, a, c, a):
        roll_back(store, *STAGE, version)
    found = read_moves(store, *STAGE)
    assert len({entry.pointer for entry in found}) == len(found) == 8
    times = [entry.pointer.published_at for entry in found]
    assert [entry.moved_at for entry in found] == times
    assert sorted(set(map(parse_time, times))) == list(map(parse_time, times))
    assert [entry.replaced for entry in found] == [None, *(entry.pointer for entry in found[:-1])]


def test_a_record_is_one_document_of_its_own(store: LocalStore) -> None:
    served(store, 11, 12)
    first, second = records(store)
    assert (first.name, second.name) == ("00000001.json", "00000002.json")
    documents = [json.loads(path.read_bytes()) for path in (first, second)]
    assert documents == [found.to_json() for found in read_moves(store, *STAGE)]
    assert documents[1].keys() == {"action", "moved_at", "replaced", "pointer"}
    assert documents[0]["replaced"] is None
    assert documents[1]["replaced"] == documents[0]["pointer"]
    assert documents[1]["pointer"] == json.loads((store.root / f"{SERVED}.json").read_bytes())


def test_a_stage_that_never_moved_has_no_moves(store: LocalStore) -> None:
    assert read_moves(store, *STAGE) == []


def test_stages_and_targets_have_records_of_their_own(store: LocalStore) -> None:
    served(store, 11)
    assert read_moves(store, "dev", "throughput") == read_moves(store, "prod", "utilization") == []


def test_of_many_moves_the_newest_are_read(store: LocalStore) -> None:
    every = [move(store, published(store, day)) for day in (11, 12, 13)]
    for newest in (1, 2, 3, 4):
        assert read_moves(store, *STAGE, newest=newest) == every[-newest:]


def test_the_newest_moves_are_those_that_were_made(store: LocalStore) -> None:
    every = [move(store, published(store, day)) for day in (11, 12, 13)]
    crash(store, ACTS["publish"])
    for newest in (1, 2, 4):
        assert read_moves(store, *STAGE, newest=newest) == every[-newest:]


def entries(*pointers: Pointer) -> list[Move]:
    """Moves of one after the other, a minute apart."""
    made: list[Move] = []
    for minute, pointer in enumerate(pointers):
        at = format_time(parse_time("2026-02-01T00:00:00Z") + minute * 60_000_000)
        before = made[-1].pointer if made else None
        made.append(Move("publish", at, before, replace(pointer, published_at=at)))
    return made


def write_entries(store: LocalStore, made: list[Move]) -> None:
    """The record of so many moves and the pointer, not by as many moves."""
    (store.root / FOLDER).mkdir(parents=True)
    for number, entry in enumerate(made, 1):
        (store.root / FOLDER / f"{number:08}.json").write_text(json.dumps(entry.to_json()))
    write_pointer(store, *STAGE, made[-1].pointer, None)


def test_of_very_many_moves_the_newest_are_read_unless_more_are_asked_for(
    store: LocalStore,
) -> None:
    a, b = published(store, 11), published(store, 12)
    written = entries(a, *[b, a] * (NEWEST // 2 + 3))
    write_entries(store, written)
    assert read_moves(store, *STAGE) == written[-NEWEST:]
    assert read_moves(store, *STAGE, newest=1000) == written
    made = roll_back(store, *STAGE)
    assert told(made) == ("rollback", b.version, a.version)
    assert read_moves(store, *STAGE) == [*written[-NEWEST + 1 :], made]


def test_a_rollback_over_all_the_moves_read_is_followed_by_none_that_goes_forward(
    store: LocalStore,
) -> None:
    a, b, c = (published(store, day) for day in (11, 12, 13))
    write_entries(store, entries(a, *[b, c] * (NEWEST // 2 - 1), b))
    roll_back(store, *STAGE, a.version)
    with pytest.raises(RollbackError, match=f"has served no version before {a.version}"):
        roll_back(store, *STAGE)


def test_of_the_newest_records_those_of_lost_moves_count_for_nothing(store: LocalStore) -> None:
    (a,) = served(store, 11)
    stale = read_pointer(store, *STAGE)
    (b,) = served(store, 12)
    for day in (13, 14):
        with pytest.raises(ConflictError):
            move_pointer(store, *STAGE, "publish", stamped(published(store, day)), *stale)
    assert recorded(store) == [("publish", a), ("publish", b)]
    newest = [found.pointer.version for found in read_moves(store, *STAGE, newest=2)]
    assert newest in ([a, b], [b])


def test_numbers_go_on_from_the_last(store: LocalStore) -> None:
    served(store, 11, 12, 13)
    for path in records(store)[:2]:
        path.unlink()
    move(store, published(store, 14))
    assert [path.name for path in records(store)] == ["00000003.json", "00000004.json"]


def test_a_number_that_another_writer_took_is_passed_over(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (move(store, published(store, day)) for day in (11, 12))
    c, theirs = published(store, 13), stamped(published(store, 14))
    create = LocalStore.create

    def beaten(self: LocalStore, key: str, content: bytes) -> bool:
        if key == f"{FOLDER}/00000003.json":
            entry = Move("publish", theirs.published_at, b.pointer, theirs)
            assert create(self, key, json.dumps(entry.to_json()).encode())
        return create(self, key, content)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "create", beaten)
        made = move(store, c)
    assert [path.name for path in records(store)] == [f"{at:08}.json" for at in (1, 2, 3, 4)]
    assert json.loads(records(store)[3].read_bytes()) == made.to_json()
    assert read_moves(store, *STAGE) == [a, b, made]


POINTED = {
    "version": "v",
    "uri": "models/v",
    "manifest_sha256": "0" * 64,
    "as_of": "2026-01-12",
    "published_at": "2026-01-12T02:00:00Z",
}
WHOLE = {"action": "publish", "moved_at": "x", "replaced": None, "pointer": POINTED}
LACKING = [
    *({key: value for key, value in WHOLE.items() if key != name} for name in WHOLE),
    WHOLE | {"pointer": {"version": "v"}},
    WHOLE | {"replaced": "v"},  # as records once were
    *(WHOLE | {"replaced": 5}, WHOLE | {"replaced": {}}),
    WHOLE | {"replaced": POINTED | {"uri": ".."}},
]
BROKEN = [
    *(b"", b"{", b"null", b"[]", b"5", b'"x"', b"{}", b"\xff", b"[" * 100_000),
    *(json.dumps(lacking).encode() for lacking in LACKING),
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("at", [1, 2])
def test_a_broken_record_is_logged_and_what_it_pointed_at_is_shown_in_its_place(
    store: LocalStore, caplog: pytest.LogCaptureFixture, content: bytes, at: int
) -> None:
    every = [move(store, published(store, day)) for day in (11, 12, 13)]
    records(store)[at].write_bytes(content)
    every[at] = shown(every[at].pointer)
    assert read_moves(store, *STAGE) == every
    (warning,) = caplog.records
    assert f"{FOLDER}/0000000{at + 1}.json is no record of a move" in warning.getMessage()
    every.append(roll_back(store, *STAGE))
    assert told(every[-1]) == ("rollback", every[1].pointer.version, every[2].pointer.version)
    every.append(move(store, published(store, 14)))
    assert serving(store) == every[-1].pointer.version
    assert read_moves(store, *STAGE) == every


def test_foreign_files_among_the_records_are_no_moves(store: LocalStore) -> None:
    versions = served(store, 11, 12)
    for name in ("notes.txt", "3.json", "00000003.json.bak", "000000003.json", ".00000009.json"):
        (store.root / FOLDER / name).write_text("mine")
    assert roll_back(store, *STAGE).pointer.version == versions[0]
    assert (store.root / FOLDER / "00000003.json").exists()
    assert [version for _, version in recorded(store)] == [*versions, versions[0]]
