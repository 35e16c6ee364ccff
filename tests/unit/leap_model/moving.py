"""Moves the pointer of one stage, and tells what it serves and what is on record."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from leap_model import moves
from leap_model.artifact import Packed, pack
from leap_model.errors import ConflictError
from leap_model.moves import Move, RollbackError, move_pointer, read_moves, roll_back
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.sealed import MANIFEST
from leap_model.store import LocalStore
from leap_model.times import format_time, now_us
from tests.unit.leap_model.builders import tiny_artifact

STAGE = ("prod", "throughput")
SERVED = "pointers/prod/throughput"
FOLDER = f"{SERVED}.moves"


def published(store: LocalStore, day: int) -> Pointer:
    """A version of a January night; nothing points at it yet."""
    packed, as_of = packed_of(day), _as_of(day)
    uri = f"models/throughput/{packed.version}"
    for name, content in {**packed.files, MANIFEST: packed.manifest}.items():
        path = store.folder(uri) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)  # not by publish, which waits for the disk
    return Pointer(packed.version, uri, packed.manifest_sha256, as_of, f"{as_of}T02:00:00Z")


def _as_of(day: int) -> str:
    return f"2026-01-{day:02}"


@cache
def packed_of(day: int) -> Packed:
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
    "forward": lambda store: roll_back(store, *STAGE, packed_of(13).version),
}
"""A move of each kind, from where `rolled` leaves the stage."""

each_act = pytest.mark.parametrize("action", ACTS)


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
