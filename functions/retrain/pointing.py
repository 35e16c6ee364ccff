"""Whether a new version is pointed at, and the move itself."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from functions.retrain.live import Live
from leap_model.artifact import Packed
from leap_model.errors import ConflictError
from leap_model.moves import move_pointer, read_moves, withdrawn
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import Store
from leap_model.times import format_time, now_us


def why_not(
    evaluation: Mapping[str, Any], live: Live | None, margin: float, test_run: bool, force: bool
) -> str | None:
    """Why a model of these figures is not to be pointed at; None where it is.

    The gate: its w20 on the evaluation day may be at most `margin` below that of the live model
    on the same attempts. A live model without figures holds nothing up.
    """
    if test_run:
        return "a test run never points"
    if force:
        return None
    if not evaluation["attempts"]:
        return f"{evaluation['from']} has no usable attempt to evaluate on; --force points anyway"
    if live is None or live.evaluation is None:
        return None
    own, theirs = evaluation["w20"], live.evaluation["w20"]
    if theirs - own > margin + 1e-9:  # shares of whole attempts, not of rounding
        return (
            f"w20 of {evaluation['from']} is {_percent(own)}, and {_percent(theirs)} with the live "
            f"{live.version}: worse by more than {_percent(margin)}; --force points anyway"
        )
    return None


def point(
    store: Store,
    stage: str,
    target: str,
    packed: Packed,
    uri: str,
    as_of: date,
    *,
    force: bool = False,
) -> str | None:
    """Move the pointer forward; None, or why it stays.

    It never moves back in `as_of`. A night whose model the stage was rolled back from is pointed at
    again only by force: whoever rolled it back knew why, and a late attempt makes another version.
    """
    current, etag = read_pointer(store, stage, target)
    if current is not None and current.as_of > as_of.isoformat():
        return f"the stage points at a newer model, of {current.as_of}"
    if current is not None and current.manifest_sha256 == packed.manifest_sha256:
        return None
    if not force and as_of.isoformat() in _withdrawn_nights(store, stage, target):
        return "the stage was rolled back from this night's model; --force points anyway"
    digest, now = packed.manifest_sha256, format_time(now_us())
    pointer = Pointer(packed.version, uri, digest, as_of.isoformat(), now)
    try:
        move_pointer(store, stage, target, "publish", pointer, current, etag)
    except ConflictError:
        return "another run moved the pointer at the same time"
    return None


def _withdrawn_nights(store: Store, stage: str, target: str) -> set[str]:
    moves = read_moves(store, stage, target)
    gone = withdrawn(moves)
    return {move.pointer.as_of for move in moves if move.pointer.version in gone}


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
