"""Moves of a stage's pointer: the record that `pointer history` shows and a rollback goes by.

Each move is one small object, `pointers/STAGE/TARGET.moves/NUMBER.json`, written once. The pointer
itself is moved first: it alone decides what is served.
"""

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from leap_model.artifact import load
from leap_model.errors import LeapError, StoreError
from leap_model.pointer import Pointer, parse_pointer, read_pointer, write_pointer
from leap_model.store import Store, checked_key
from leap_model.times import format_time, now_us

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"[0-9]{8}\.json")

Action: TypeAlias = Literal["publish", "rollback", "forward"]
NEWEST: Final = 200
"""Moves that are read back at most; nights are one a day."""


class RollbackError(LeapError):
    """There is nothing to roll back to, or it is not fit to serve."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move: what it was, when, from which version (None: from nothing), and where to."""

    action: str
    moved_at: str
    replaced: str | None
    pointer: Pointer

    def to_json(self) -> dict[str, Any]:
        """The document that is stored."""
        return {
            "action": self.action,
            "moved_at": self.moved_at,
            "replaced": self.replaced,
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
) -> None:
    """Move the pointer from `current`, which has the tag `etag`, and record it.

    Raises
    ------
    ConflictError
        Another writer moved it first; nothing was done.
    """
    write_pointer(store, stage, target, pointer, etag)
    replaced = current.version if current else None
    try:
        known = read_moves(store, stage, target, newest=1)
        if current is not None and (not known or known[0].pointer.version != current.version):
            # A process that ended between the two writes left its move out: mend the record.
            _record(store, stage, target, Move("publish", current.published_at, None, current))
        _record(store, stage, target, Move(action, format_time(now_us()), replaced, pointer))
    except StoreError as fault:  # what is served has moved all the same
        _log.warning(
            "the move of stage %s to %s is not on record: %s", stage, pointer.version, fault
        )


def read_moves(store: Store, stage: str, target: str, newest: int = NEWEST) -> list[Move]:
    """The newest moves, oldest first. A record that cannot be read is left out and logged."""
    found = [_parse(key, store.read(key)) for key in _keys(store, stage, target)[-newest:]]
    return [move for move in found if move is not None]


def withdrawn(moves: Sequence[Move]) -> set[str]:
    """Versions that the stage was rolled back from and has not pointed at again since."""
    versions: set[str] = set()
    for move in moves:
        if move.action == "rollback" and move.replaced is not None:
            versions.add(move.replaced)
        versions.discard(move.pointer.version)
    return versions


def roll_back(store: Store, stage: str, target: str, version: str | None = None) -> Move:
    """Point at an earlier version, by default the last one that served before the current one.

    Versions that were themselves rolled back from are passed over unless named. Naming a version
    that came after the current one rolls forward.

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
    order = list(dict.fromkeys(move.pointer.version for move in moves))
    if current.version not in order:
        order.append(current.version)
    here = order.index(current.version)
    if version is None:
        passed_over = withdrawn(moves)
        earlier = [name for name in order[:here] if name not in passed_over]
        if not earlier:
            raise RollbackError(f"the stage {stage} has served no version before {current.version}")
        version = earlier[-1]
    if version not in order:
        raise RollbackError(f"the stage {stage} has never served {version}")
    if version == current.version:
        raise RollbackError(f"the stage {stage} serves {version} already")
    chosen = next(move.pointer for move in reversed(moves) if move.pointer.version == version)
    _must_load(store, chosen)
    action: Action = "rollback" if order.index(version) < here else "forward"
    move_pointer(store, stage, target, action, chosen, current, etag)
    return read_moves(store, stage, target, newest=1)[0]


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


def _keys(store: Store, stage: str, target: str) -> list[str]:
    keys = store.keys(_folder(stage, target))
    return [key for key in keys if _NUMBER.fullmatch(key.rpartition("/")[2])]


def _parse(key: str, content: bytes | None) -> Move | None:
    try:
        document = json.loads(content or b"")
        pointer = parse_pointer(json.dumps(document["pointer"]).encode())
        replaced = document["replaced"]
        return Move(
            str(document["action"]),
            str(document["moved_at"]),
            None if replaced is None else str(replaced),
            pointer,
        )
    except (ValueError, KeyError, TypeError, LeapError, RecursionError) as fault:
        _log.warning("%s is no record of a move: %r", key, fault)
        return None
