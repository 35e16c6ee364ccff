"""Moves of a stage's pointer: the record that `pointer history` shows and a rollback goes by.

Each move is one small object, `pointers/STAGE/TARGET.moves/NUMBER.json`, written once and before
the pointer itself, which alone decides what is served: no move that was made is missing.
"""

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from leap_model.artifact import load
from leap_model.errors import LeapError
from leap_model.pointer import Pointer, parse_pointer, read_pointer, write_pointer
from leap_model.store import Store, checked_key
from leap_model.times import format_time, now_us, parse_time

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"[0-9]{8}\.json")

Action: TypeAlias = Literal["publish", "rollback", "forward"]
NEWEST: Final = 200
"""Moves that are read back at most; nights are one a day."""


class RollbackError(LeapError):
    """There is nothing to roll back to, or it is not fit to serve."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move: what it was, when, what was served before (None: nothing), and what since.

    No two pointers that a stage ever served are equal, since each says when it was pointed at.
    """

    action: str
    moved_at: str
    replaced: Pointer | None
    pointer: Pointer

    def to_json(self) -> dict[str, Any]:
        """The document that is stored."""
        return {
            "action": self.action,
            "moved_at": self.moved_at,
            "replaced": None if self.replaced is None else self.replaced.to_json(),
            "pointer": self.pointer.to_json(),
        }


def move_pointer(
    store: Store,
    stage: str,
    target: str,
    action: Action,
    pointer: Pointer,
    current: Pointer | None,
    etag: str | None,
) -> Move:
    """Put a move from `current`, which has the tag `etag`, on record, and make it.

    The pointer that is made says a later `published_at` than the one it replaces: its own where
    that is later, else the next moment there is, since whoever made `current` may have a clock that
    is ahead.

    Raises
    ------
    ConflictError
        Another writer moved the pointer first; the record stays and counts for nothing.
    StoreError
        The move could not be recorded or made.
    """
    if current is not None:
        earliest = parse_time(current.published_at) + 1
        moved_at = max(parse_time(pointer.published_at), earliest)
        pointer = replace(pointer, published_at=format_time(moved_at))
    move = Move(action, pointer.published_at, current, pointer)
    _record(store, stage, target, move)
    store.retain(pointer.uri)
    write_pointer(store, stage, target, pointer, etag)
    return move


def read_moves(store: Store, stage: str, target: str, newest: int = NEWEST) -> list[Move]:
    """The newest moves that were made, oldest first.

    They are found going back from what is served: the record that points at it, then the one that
    points at what that one replaced, and so on. Records of moves that were never made are not on
    this way. A record that cannot be read is logged, and what it pointed at shown as published.
    """
    served, _ = read_pointer(store, stage, target)
    left = _recorded(store, stage, target, max(newest, NEWEST))
    made: list[Move] = []
    while served is not None:
        at = max((i for i, move in enumerate(left) if move.pointer == served), default=None)
        if at is not None:
            made.append(left[at])
            served, left = left[at].replaced, left[:at]
            continue
        made.append(Move("publish", served.published_at, None, served))
        left = [move for move in left if move.replaced != served]
        served = left[-1].pointer if left else None
    return made[::-1][-newest:]


def withdrawn(moves: Sequence[Move]) -> set[str]:
    """Versions that the stage was rolled back from and has not pointed at again since."""
    versions: set[str] = set()
    for move in moves:
        if move.action == "rollback" and move.replaced is not None:
            versions.add(move.replaced.version)
        versions.discard(move.pointer.version)
    return versions


def roll_back(store: Store, stage: str, target: str, version: str | None = None) -> Move:
    """Point at an earlier version, by default the last one that served before the current one.

    Versions that were themselves rolled back from are passed over unless named. Naming a version
    that was published after the current one rolls forward.

    Raises
    ------
    RollbackError
        There is no such version in the stage's history, or it does not load; nothing was done.
    ConflictError
        Another writer moved the pointer at the same moment.
    """
    current, etag = read_pointer(store, stage, target)
    if current is None:
        raise RollbackError(f"the stage {stage} points at no model")
    moves = read_moves(store, stage, target)
    chosen = _chosen(stage, moves, current.version, version)
    _must_load(store, chosen)
    action: Action = "forward" if chosen.version in _later(moves, current.version) else "rollback"
    pointer = replace(chosen, published_at=format_time(now_us()))
    return move_pointer(store, stage, target, action, pointer, current, etag)


def _chosen(stage: str, moves: Sequence[Move], current: str, version: str | None) -> Pointer:
    """The pointer of a version that served, by default of the last one fit to go back to."""
    if version == current:
        raise RollbackError(f"the stage {stage} serves {version} already")
    passed_over = withdrawn(moves) | _later(moves, current) | {current}
    for move in reversed(moves):
        name = move.pointer.version
        if name == version or (version is None and name not in passed_over):
            return move.pointer
    if version is None:
        raise RollbackError(f"the stage {stage} has served no version before {current}")
    raise RollbackError(f"the stage {stage} has never served {version}")


def _later(moves: Sequence[Move], current: str) -> set[str]:
    """Versions whose last publication came after that of the current one."""
    order = [move.pointer.version for move in moves if move.action == "publish"]
    last = {version: at for at, version in enumerate(order)}
    return {version for version, at in last.items() if at > last.get(current, -1)}


def _must_load(store: Store, pointer: Pointer) -> None:
    try:
        load(store.folder(pointer.uri), pointer.manifest_sha256)
    except LeapError as fault:
        raise RollbackError(f"{pointer.version} cannot serve: {fault}") from None


def _folder(stage: str, target: str) -> str:
    return checked_key(f"pointers/{stage}/{target}.moves")


def _record(store: Store, stage: str, target: str, move: Move) -> None:
    content = (json.dumps(move.to_json(), indent=2) + "\n").encode()
    folder, keys = _folder(stage, target), _keys(store, stage, target)
    number = int(keys[-1][-len("00000000.json") : -len(".json")]) + 1 if keys else 1
    while not store.create(f"{folder}/{number:08}.json", content):
        number += 1  # another writer's move has this number


def _recorded(store: Store, stage: str, target: str, newest: int) -> list[Move]:
    """The newest moves on record, made or not."""
    found = [_parse(key, store.read(key)) for key in _keys(store, stage, target)[-newest:]]
    return [move for move in found if move is not None]


def _keys(store: Store, stage: str, target: str) -> list[str]:
    keys = store.keys(_folder(stage, target))
    return [key for key in keys if _NUMBER.fullmatch(key.rpartition("/")[2])]


def _parse(key: str, content: bytes | None) -> Move | None:
    try:
        document = json.loads(content or b"")
        replaced = document["replaced"]
        return Move(
            str(document["action"]),
            str(document["moved_at"]),
            None if replaced is None else parse_pointer(json.dumps(replaced).encode()),
            parse_pointer(json.dumps(document["pointer"]).encode()),
        )
    except (ValueError, KeyError, TypeError, LeapError, RecursionError) as fault:
        _log.warning("%s is no record of a move: %r", key, fault)
        return None
