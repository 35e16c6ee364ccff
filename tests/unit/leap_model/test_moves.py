"""Moves of the pointer: each is on record, and a rollback goes by the record."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Barrier
from typing import Any, TypeAlias

import pytest

from leap_model import moves
from leap_model.artifact import MANIFEST, Packed, load, pack
from leap_model.errors import ConflictError, StoreError
from leap_model.moves import (
    NEWEST,
    Move,
    RollbackError,
    move_pointer,
    read_moves,
    roll_back,
    withdrawn,
)
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.store import LocalStore
from leap_model.times import format_time, now_us, parse_time
from tests.unit.leap_model.builders import tiny_artifact

STAGE = ("prod", "throughput")
SERVED = "pointers/prod/throughput"
FOLDER = f"{SERVED}.moves"


def published(store: LocalStore, day: int) -> Pointer:
    """A version of a January night; nothing points at it yet."""
    packed, as_of = _packed(day), _as_of(day)
    uri = f"models/throughput/{packed.version}"
    for name, content in {**packed.files, MANIFEST: packed.manifest}.items():
        path = store.folder(uri) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)  # not by publish, which waits for the disk
    return Pointer(packed.version, uri, packed.manifest_sha256, as_of, f"{as_of}T02:00:00Z")


def _as_of(day: int) -> str:
    return f"2026-01-{day:02}"


@cache
def _packed(day: int) -> Packed:
    return pack(tiny_artifact(as_of=_as_of(day)))


def stamped(pointer: Pointer) -> Pointer:
    """As a night points at it: no two pointers that a stage serves are equal."""
    return replace(pointer, published_at=format_time(now_us()))


def move(store: LocalStore, pointer: Pointer) -> Move:
    return move_pointer(store, *STAGE, "publish", stamped(pointer), *read_pointer(store, *STAGE))


def served(store: LocalStore, *days: int) -> list[str]:
    """The versions of these nights, after each was pointed at in turn."""
    pointers = [published(store, day) for day in days]
    for pointer in pointers:
        move(store, pointer)
    return [pointer.version for pointer in pointers]


def serving(store: LocalStore) -> str | None:
    pointer, _ = read_pointer(store, *STAGE)
    return None if pointer is None else pointer.version


def recorded(store: LocalStore) -> list[tuple[str, str]]:
    """(action, version) of each move that was made."""
    return [(found.action, found.pointer.version) for found in read_moves(store, *STAGE)]


def told(made: Move) -> tuple[str, str, str | None]:
    """What a move was, to which version, and from which."""
    replaced = None if made.replaced is None else made.replaced.version
    return made.action, made.pointer.version, replaced


def shown(pointer: Pointer) -> Move:
    """How a pointer is told of that was served and has no record."""
    return Move("publish", pointer.published_at, None, pointer)


def records(store: LocalStore) -> list[Path]:
    return sorted((store.root / FOLDER).iterdir())


def refusal(store: LocalStore, version: str | None = None) -> str:
    """The sentence of a rollback that must change nothing."""
    before = {key: store.read(key) for key in store.keys("pointers")}
    with pytest.raises(RollbackError) as caught:
        roll_back(store, *STAGE, version)
    assert {key: store.read(key) for key in store.keys("pointers")} == before
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


Act: TypeAlias = Callable[[LocalStore], Move]

ACTS: dict[str, Act] = {
    "publish": lambda store: move(store, published(store, 14)),
    "rollback": lambda store: roll_back(store, *STAGE),
    "forward": lambda store: roll_back(store, *STAGE, _packed(13).version),
}
"""A move of each kind, from where `rolled` leaves the stage."""

each_act = pytest.mark.parametrize("action", ACTS)


@pytest.fixture
def rolled(store: LocalStore) -> list[tuple[str, str]]:
    """A stage that served three nights and was rolled back to the second: its record."""
    a, b, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE)
    return [("publish", a), ("publish", b), ("publish", c), ("rollback", b)]


def crash(store: LocalStore, act: Act, at: str = "before") -> None:
    """The process ends right before or right after the pointer moves; its record is written."""
    with pytest.MonkeyPatch.context() as patch:

        def writing(*args: Any) -> None:
            if at == "after":
                write_pointer(*args)
            raise KeyboardInterrupt

        patch.setattr(moves, "write_pointer", writing)
        with pytest.raises(KeyboardInterrupt):
            act(store)


def lose(store: LocalStore, act: Act, winner: Callable[[], object]) -> None:
    """Another writer moves the pointer after the record of a move and before the pointer itself."""
    with pytest.MonkeyPatch.context() as patch:

        def writing(*args: Any) -> None:
            patch.undo()
            winner()
            write_pointer(*args)

        patch.setattr(moves, "write_pointer", writing)
        with pytest.raises(ConflictError):
            act(store)


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


def test_a_rollback_goes_to_the_version_served_before_and_again_further_back(
    store: LocalStore,
) -> None:
    a, b, c = served(store, 11, 12, 13)
    for expected, replaced in ((b, c), (a, b)):
        assert told(roll_back(store, *STAGE)) == ("rollback", expected, replaced)
        assert serving(store) == expected
    assert refusal(store) == f"the stage prod has served no version before {a}"


def test_a_rollback_restores_the_pointer_that_served_but_for_its_time(store: LocalStore) -> None:
    a, b = (move(store, published(store, day)).pointer for day in (11, 12))
    started = now_us()
    made = roll_back(store, *STAGE)
    assert made == Move("rollback", made.moved_at, b, replace(a, published_at=made.moved_at))
    assert started <= parse_time(made.moved_at) <= now_us()
    assert read_pointer(store, *STAGE)[0] == made.pointer


def test_a_version_that_served_twice_comes_back_as_it_served_last(store: LocalStore) -> None:
    a, b = published(store, 11), published(store, 12)
    again = replace(a, uri=f"models/copied/{a.version}")
    shutil.copytree(store.folder(a.uri), store.folder(again.uri))
    for pointer in (a, b, again):
        move(store, pointer)
    roll_back(store, *STAGE, b.version)
    assert roll_back(store, *STAGE, a.version).pointer.uri == again.uri


@pytest.mark.parametrize("later", [[], [13]])
def test_a_rollback_goes_to_the_version_before_also_where_one_served_twice(
    store: LocalStore, later: list[int]
) -> None:
    a, b, _ = served(store, 11, 12, 11)
    served(store, *later)
    made = roll_back(store, *STAGE)
    assert (made.action, made.pointer.version) == ("rollback", a if later else b)


def test_a_rollback_never_goes_forward_unless_named(store: LocalStore) -> None:
    a, b, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    assert refusal(store) == f"the stage prod has served no version before {a}"
    assert told(roll_back(store, *STAGE, b)) == ("forward", b, a)
    assert told(roll_back(store, *STAGE)) == ("rollback", a, b)
    assert refusal(store) == f"the stage prod has served no version before {a}"
    assert told(roll_back(store, *STAGE, c)) == ("forward", c, a)


def test_a_rollback_goes_on_back_past_versions_published_later(store: LocalStore) -> None:
    a, b, _, d = served(store, 11, 12, 13, 14)
    roll_back(store, *STAGE, b)
    assert withdrawn(read_moves(store, *STAGE)) == {d}
    assert told(roll_back(store, *STAGE)) == ("rollback", a, b)
    assert refusal(store) == f"the stage prod has served no version before {a}"


def test_what_was_published_again_after_the_current_one_is_later(store: LocalStore) -> None:
    a, b = served(store, 11, 12)
    served(store, 11)
    assert told(roll_back(store, *STAGE)) == ("rollback", b, a)
    assert refusal(store) == f"the stage prod has served no version before {b}"
    assert told(roll_back(store, *STAGE, a)) == ("forward", a, b)


def test_a_rollback_passes_over_versions_that_were_rolled_back_from(store: LocalStore) -> None:
    a, bad = served(store, 11, 12)
    roll_back(store, *STAGE)
    (c,) = served(store, 13)
    assert withdrawn(read_moves(store, *STAGE)) == {bad}
    assert roll_back(store, *STAGE).pointer.version == a
    assert withdrawn(read_moves(store, *STAGE)) == {bad, c}


def test_a_version_that_was_rolled_back_from_can_be_named(store: LocalStore) -> None:
    _, bad = served(store, 11, 12)
    roll_back(store, *STAGE)
    (c,) = served(store, 13)
    assert told(roll_back(store, *STAGE, bad)) == ("rollback", bad, c)
    assert serving(store) == bad
    assert withdrawn(read_moves(store, *STAGE)) == {c}


def test_naming_a_later_version_rolls_forward_and_takes_it_off_the_withdrawn(
    store: LocalStore,
) -> None:
    a, _, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    assert withdrawn(read_moves(store, *STAGE)) == {c}
    assert told(roll_back(store, *STAGE, c)) == ("forward", c, a)
    assert withdrawn(read_moves(store, *STAGE)) == set()


def test_after_rolling_forward_a_rollback_goes_to_what_really_served_before(
    store: LocalStore,
) -> None:
    a, _, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    roll_back(store, *STAGE, c)
    assert told(roll_back(store, *STAGE)) == ("rollback", a, c)
    assert withdrawn(read_moves(store, *STAGE)) == {c}


@pytest.mark.parametrize(
    ("days", "back_to", "named", "action"),
    [
        pytest.param((11, 12, 13), 11, 12, "forward", id="between the two"),
        pytest.param((11, 12, 13), 12, 11, "rollback", id="before both"),
        pytest.param((11, 12, 11), 12, 11, "forward", id="published again later"),
        pytest.param((11, 12, 11, 13), 11, 12, "rollback", id="the current one published again"),
        pytest.param((12, 11), 12, 11, "forward", id="by the order of moves, not of nights"),
    ],
)
def test_forward_is_what_goes_to_a_version_published_after_the_current_one(
    store: LocalStore, days: tuple[int, ...], back_to: int, named: int, action: str
) -> None:
    served(store, *days)
    roll_back(store, *STAGE, _packed(back_to).version)
    made = roll_back(store, *STAGE, _packed(named).version)
    assert (made.action, made.pointer.version) == (action, _packed(named).version)
    assert made == read_moves(store, *STAGE)[-1]
    assert (told(made)[2] in withdrawn(read_moves(store, *STAGE))) == (action == "rollback")


def test_a_version_pointed_at_again_is_no_longer_withdrawn(store: LocalStore) -> None:
    a, b = published(store, 11), published(store, 12)
    move(store, a)
    move(store, b)
    roll_back(store, *STAGE)
    move(store, b)
    assert withdrawn(read_moves(store, *STAGE)) == set()
    assert told(roll_back(store, *STAGE)) == ("rollback", a.version, b.version)


def test_a_stage_that_points_at_nothing_cannot_be_rolled_back(store: LocalStore) -> None:
    assert refusal(store) == "the stage prod points at no model"
    assert refusal(store, "v") == "the stage prod points at no model"


def test_the_first_version_cannot_be_rolled_back(store: LocalStore) -> None:
    (only,) = served(store, 11)
    assert refusal(store) == f"the stage prod has served no version before {only}"


def test_a_version_that_the_stage_never_served_is_refused(store: LocalStore) -> None:
    served(store, 11, 12)
    strange = published(store, 10).version
    for version in (strange, "", "../x"):
        assert refusal(store, version) == f"the stage prod has never served {version}"


def test_the_version_that_is_served_is_refused(store: LocalStore) -> None:
    _, b = served(store, 11, 12)
    assert refusal(store, b) == f"the stage prod serves {b} already"


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "alter", "said"),
    [
        ("model.json", Path.unlink, "the artifact lacks its file model.json"),
        ("history/runs.npy", _flip, "the artifact's file history/runs.npy was altered"),
        ("manifest.json", Path.unlink, "the artifact has no manifest: it was never completed"),
        ("manifest.json", _flip, "the artifact's manifest is not the one that the pointer names"),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_a_version_that_does_not_load_is_refused(
    store: LocalStore, name: str, alter: Callable[[Path], None], said: str, named: bool
) -> None:
    a, b = served(store, 11, 12)
    alter(store.folder(f"models/throughput/{a}") / name)
    assert refusal(store, a if named else None) == f"{a} cannot serve: {said}"
    assert serving(store) == b


def test_past_a_version_that_does_not_load_an_earlier_one_can_be_named(store: LocalStore) -> None:
    a, b, _ = served(store, 11, 12, 13)
    shutil.rmtree(store.folder(f"models/throughput/{b}"))
    refusal(store)
    assert roll_back(store, *STAGE, a).pointer.version == a


@each_act
def test_the_move_that_was_made_is_returned_and_is_the_last_on_record(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    made = ACTS[action](store)
    assert told(made) == (action, serving(store), rolled[-1][1])
    assert made.pointer == read_pointer(store, *STAGE)[0]
    assert recorded(store) == [*rolled, (action, made.pointer.version)]
    assert read_moves(store, *STAGE)[-1] == made


@each_act
def test_a_move_that_crashes_before_the_pointer_moves_was_never_made(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    before, gone = read_pointer(store, *STAGE), withdrawn(read_moves(store, *STAGE))
    crash(store, ACTS[action])
    assert len(records(store)) == len(rolled) + 1
    assert read_pointer(store, *STAGE) == before
    assert recorded(store) == rolled
    assert withdrawn(read_moves(store, *STAGE)) == gone


@each_act
@pytest.mark.parametrize("later", ACTS)
def test_after_a_move_that_was_never_made_the_next_is_as_if_it_had_not_been_tried(
    store: LocalStore, rolled: list[tuple[str, str]], action: str, later: str
) -> None:
    crash(store, ACTS[action])
    made = ACTS[later](store)
    assert told(made) == (later, serving(store), rolled[-1][1])
    assert recorded(store) == [*rolled, (later, made.pointer.version)]
    assert read_moves(store, *STAGE)[-1] == made
    gone = {rolled[2][1], rolled[3][1]} if later == "rollback" else {rolled[2][1]}
    assert withdrawn(read_moves(store, *STAGE)) == (set() if later == "forward" else gone)


@each_act
def test_a_crash_right_after_the_pointer_moved_leaves_nothing_to_mend(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    crash(store, ACTS[action], at="after")
    now = serving(store)
    assert now != rolled[-1][1]
    assert recorded(store) == [*rolled, (action, now)]
    (e,) = served(store, 15)
    assert recorded(store) == [*rolled, (action, now), ("publish", e)]
    assert len(records(store)) == len(rolled) + 2
    assert (rolled[-1][1] in withdrawn(read_moves(store, *STAGE))) == (action == "rollback")


@each_act
def test_a_move_that_lost_the_race_counts_for_nothing(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    gone = withdrawn(read_moves(store, *STAGE))
    e = published(store, 15)
    lose(store, ACTS[action], lambda: move(store, e))
    assert serving(store) == e.version
    assert len(records(store)) == len(rolled) + 2
    assert recorded(store) == [*rolled, ("publish", e.version)]
    assert withdrawn(read_moves(store, *STAGE)) == gone
    assert roll_back(store, *STAGE).pointer.version == rolled[-1][1]


def test_a_rollback_that_was_never_made_withdraws_nothing(store: LocalStore) -> None:
    _, b = served(store, 11, 12)
    crash(store, lambda store: roll_back(store, *STAGE))
    served(store, 13)
    assert withdrawn(read_moves(store, *STAGE)) == set()
    assert roll_back(store, *STAGE).pointer.version == b


def test_a_version_whose_publication_was_never_made_has_never_served(store: LocalStore) -> None:
    a, _ = served(store, 11, 12)
    crash(store, ACTS["publish"])
    strange = _packed(14).version
    assert refusal(store, strange) == f"the stage prod has never served {strange}"
    assert roll_back(store, *STAGE).pointer.version == a


class Served:
    """What a stage really served, kept beside the record of it."""

    def __init__(self, store: LocalStore, seed: int) -> None:
        self.store, self.draw = store, random.Random(seed)
        self.nights = {pointer.version: pointer for pointer in map(self._published, range(11, 16))}
        self.made: list[tuple[str, Pointer]] = []
        self.gone: set[str] = set()

    def _published(self, day: int) -> Pointer:
        return published(self.store, day)

    @property
    def current(self) -> str:
        return self.made[-1][1].version

    def note(self, action: str, version: str) -> None:
        """One move was made: the pointer itself tells what is served from now on."""
        pointer, _ = read_pointer(self.store, *STAGE)
        assert pointer is not None
        assert pointer.version == version
        if action == "rollback":
            self.gone.add(self.current)
        self.gone.discard(version)
        self.made.append((action, pointer))

    def another(self, *but: str) -> Pointer:
        return self.nights[self.draw.choice([name for name in self.nights if name not in but])]

    def any_act(self) -> tuple[Act, str, str] | None:
        """A move, what it is to be, and where it goes; None once a rollback was refused."""
        kind = self.draw.choice(("publish", "back", "to"))
        if kind == "publish":
            pointer = self.another(self.current)
            return lambda store: move(store, pointer), "publish", pointer.version
        others = [at.version for _, at in self.made if at.version != self.current]
        fit = others if kind == "to" else [name for name in others if self._is_before(name)]
        if not fit:
            if kind == "back":
                assert refusal(self.store).endswith(f"served no version before {self.current}")
            return None
        version = fit[-1] if kind == "back" else self.draw.choice(fit)
        named = version if kind == "to" else None
        action = "forward" if self._is_later(version) else "rollback"
        return lambda store: roll_back(store, *STAGE, named), action, version

    def _is_before(self, version: str) -> bool:
        """Whether a rollback that names none may go to it."""
        return version not in self.gone and not self._is_later(version)

    def _is_later(self, version: str) -> bool:
        return self._publication(version) > self._publication(self.current)

    def _publication(self, version: str) -> int:
        publications = [
            pointer.version if action == "publish" else "" for action, pointer in self.made
        ]
        return len(publications) - publications[::-1].index(version)

    def agrees(self) -> None:
        pointers = [pointer for _, pointer in self.made]
        every = [
            Move(action, pointer.published_at, before, pointer)
            for (action, pointer), before in zip(self.made, [None, *pointers], strict=False)
        ]
        assert len(set(pointers)) == len(pointers)
        assert read_moves(self.store, *STAGE) == every
        assert withdrawn(every) == self.gone
        assert read_pointer(self.store, *STAGE)[0] == pointers[-1]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_made_crashed_or_lost_the_record_is_what_was_served(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # no power fails here
    true = Served(store, seed)
    if seed % 2:
        crash(store, partial(move, pointer=true.another()))
    true.note("publish", move(store, true.another()).pointer.version)
    for _ in range(25):
        act, action, version = true.any_act() or (None, "", "")
        if act is None:
            continue
        fate = true.draw.choice(("made", "made", "before", "after", "lost", "there and back"))
        if fate == "made":
            assert act(store).action == action
        elif fate == "lost":
            rival = true.another(true.current, version)
            lose(store, act, partial(move, store, rival))
            true.note("publish", rival.version)
        elif fate == "there and back":
            lose(store, act, partial(_there_and_back, true, true.another(true.current)))
        else:
            crash(store, act, fate)
        if fate in ("made", "after"):
            true.note(action, version)
        true.agrees()


def _there_and_back(true: Served, there: Pointer) -> None:
    back = true.current
    move(true.store, there)
    true.note("publish", there.version)
    made = roll_back(true.store, *STAGE, back)
    true.note(made.action, back)
    assert made.action == "rollback"


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


def test_a_move_from_a_state_that_is_over_conflicts_and_counts_for_nothing(
    store: LocalStore,
) -> None:
    (a,) = served(store, 11)
    stale = read_pointer(store, *STAGE)
    (b,) = served(store, 12)
    with pytest.raises(ConflictError):
        move_pointer(store, *STAGE, "publish", stamped(published(store, 13)), *stale)
    assert serving(store) == b
    assert [version for _, version in recorded(store)] == [a, b]


def _attempted(act: Callable[[], object]) -> str:
    try:
        act()
    except ConflictError:
        return "lost"
    return "won"


def _complete(store: LocalStore) -> Pointer:
    """What the stage points at, once it is known to load."""
    pointer, _ = read_pointer(store, *STAGE)
    assert pointer is not None
    load(store.folder(pointer.uri), pointer.manifest_sha256)
    return pointer


def test_of_rollbacks_and_moves_at_once_exactly_one_wins(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = served(store, 11, 12, 13)
    d = published(store, 14)
    together = Barrier(4)

    def writing(*args: Any) -> None:
        together.wait(30)
        write_pointer(*args)

    monkeypatch.setattr(moves, "write_pointer", writing)
    acts: list[Callable[[], object]] = [
        lambda: roll_back(store, *STAGE),
        lambda: roll_back(store, *STAGE),
        lambda: roll_back(store, *STAGE, a),
        lambda: move(store, d),
    ]
    with ThreadPoolExecutor(len(acts)) as pool:
        outcomes = list(pool.map(_attempted, acts))
    assert sorted(outcomes) == ["lost", "lost", "lost", "won"]
    assert _complete(store).version == (b, b, a, d.version)[outcomes.index("won")]
    assert [version for _, version in recorded(store)] == [a, b, c, serving(store)]
    assert len(records(store)) == 3 + len(acts)
    last = read_moves(store, *STAGE)[-1]
    assert (last.action == "publish") == (outcomes[3] == "won")
    assert withdrawn(read_moves(store, *STAGE)) == ({c} if last.action == "rollback" else set())


RACER = """
import json, sys
from leap_model.errors import ConflictError
from leap_model.moves import move_pointer
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import LocalStore

store, pointer = LocalStore(sys.argv[1]), Pointer(**json.loads(sys.argv[2]))
current, etag = read_pointer(store, "prod", "throughput")
print("ready", flush=True)
sys.stdin.readline()
try:
    move_pointer(store, "prod", "throughput", "publish", pointer, current, etag)
except ConflictError:
    print("lost")
else:
    print("won")
"""


def test_of_processes_that_move_at_once_exactly_one_wins(store: LocalStore) -> None:
    (a,) = served(store, 11)
    rivals = [published(store, day) for day in (12, 13, 14)]
    with ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RACER, str(store), json.dumps(rival.to_json())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for rival in rivals
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("\n")
            racer.stdin.flush()
        outcomes = [racer.communicate()[0].strip() for racer in racers]
    assert sorted(outcomes) == ["lost", "lost", "won"]
    winner = rivals[outcomes.index("won")]
    assert _complete(store) == winner
    assert [version for _, version in recorded(store)] == [a, winner.version]


def test_writers_that_try_until_they_win_are_on_record_once_each(store: LocalStore) -> None:
    (a,) = served(store, 11)
    rivals = [published(store, day) for day in range(12, 18)]

    def insist(pointer: Pointer) -> None:
        while _attempted(lambda: move(store, pointer)) == "lost":
            pass

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(insist, rivals))
    found = read_moves(store, *STAGE)
    names = [entry.pointer.version for entry in found]
    assert names[0] == a
    assert sorted(names[1:]) == [rival.version for rival in rivals]
    assert [entry.replaced for entry in found] == [None, *(entry.pointer for entry in found[:-1])]
    assert _complete(store).version == names[-1]


def test_a_rollback_right_after_the_night_s_pointer_moved_stays_one(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = served(store, 11, 12)
    c = published(store, 13)

    def writing(*args: Any) -> None:
        write_pointer(*args)
        monkeypatch.setattr(moves, "write_pointer", write_pointer)
        roll_back(store, *STAGE, a)

    monkeypatch.setattr(moves, "write_pointer", writing)
    move(store, c)
    assert serving(store) == a
    assert [version for _, version in recorded(store)] == [a, b, c.version, a]
    assert withdrawn(read_moves(store, *STAGE)) == {c.version}


def test_a_rollback_right_before_the_night_s_pointer_moves_keeps_it_from_moving(
    store: LocalStore,
) -> None:
    a, b = served(store, 11, 12)
    lose(store, ACTS["publish"], lambda: roll_back(store, *STAGE))
    assert serving(store) == a
    assert recorded(store) == [("publish", a), ("publish", b), ("rollback", a)]
    assert withdrawn(read_moves(store, *STAGE)) == {b}


@pytest.mark.parametrize("later", [[], [12]])
def test_a_first_move_that_was_never_made_counts_for_nothing(
    store: LocalStore, later: list[int]
) -> None:
    crash(store, ACTS["publish"])
    versions = served(store, *later)
    assert serving(store) == (versions[0] if versions else None)
    assert recorded(store) == [("publish", version) for version in versions]


def test_of_first_moves_at_once_the_loser_s_counts_for_nothing(store: LocalStore) -> None:
    winner = published(store, 12)
    lose(store, ACTS["publish"], lambda: move(store, winner))
    assert serving(store) == winner.version
    assert recorded(store) == [("publish", winner.version)]


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


def test_a_move_that_was_never_made_is_not_the_newest(store: LocalStore) -> None:
    every = [move(store, published(store, day)) for day in (11, 12)]
    crash(store, ACTS["publish"])
    assert read_moves(store, *STAGE, newest=1) == every[1:]
    assert read_moves(store, *STAGE, newest=3) == every


def test_a_lost_move_to_what_another_made_it_serve_counts_for_nothing(store: LocalStore) -> None:
    (a,) = served(store, 11)
    stale = read_pointer(store, *STAGE)
    b, c = served(store, 12, 13)
    with pytest.raises(ConflictError):
        move_pointer(store, *STAGE, "publish", stamped(published(store, 13)), *stale)
    assert serving(store) == c
    assert [version for _, version in recorded(store)] == [a, b, c]


@each_act
def test_moves_there_and_back_during_a_move_are_not_forgotten(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    there, back = published(store, 15), rolled[-1][1]

    def there_and_back() -> None:
        move(store, there)
        roll_back(store, *STAGE)

    lose(store, ACTS[action], there_and_back)
    assert serving(store) == back
    assert recorded(store) == [*rolled, ("publish", there.version), ("rollback", back)]
    assert there.version in withdrawn(read_moves(store, *STAGE))
