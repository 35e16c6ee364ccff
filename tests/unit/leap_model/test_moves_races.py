"""Moves at the same time: exactly one wins, and those that lost count for nothing."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

import pytest

from leap_model import moves
from leap_model.artifact import load
from leap_model.errors import ConflictError
from leap_model.moves import move_pointer, read_moves, roll_back, withdrawn
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.store import LocalStore
from tests.unit.leap_model.moving import (
    ACTS,
    STAGE,
    each_act,
    lose,
    move,
    published,
    recorded,
    records,
    served,
    serving,
    stamped,
)


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
    assert _complete(store).version == winner.version
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


def test_of_first_moves_at_once_the_loser_s_counts_for_nothing(store: LocalStore) -> None:
    winner = published(store, 12)
    lose(store, ACTS["publish"], lambda: move(store, winner))
    assert serving(store) == winner.version
    assert recorded(store) == [("publish", winner.version)]


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
