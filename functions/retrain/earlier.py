"""The nights before a run, as the report of the version that it follows has them."""

import json
from datetime import date
from typing import Any

from leap_model.errors import LeapError
from leap_model.pointer import Pointer
from leap_model.store import Store

MOST_NIGHTS = 60


def earlier_nights(store: Store, target: str, pointer: Pointer | None, before: str) -> list[Any]:
    """Figures of the nights whose versions a stage pointed at, oldest first.

    Each run's metrics hold its own night after those of the version that was pointed at, so one
    object tells all of them. A report that is gone or damaged tells of none: it is no reason to
    fail a night.

    Parameters
    ----------
    store, target : Store, str
        Where reports lie, and of which models.
    pointer : Pointer or None
        What the stage pointed at when the run began.
    before : str
        The run's date; nights from it on are left out.
    """
    if pointer is None:
        return []
    try:
        content = store.read(f"reports/{target}/{pointer.version}/metrics.json")
        known = json.loads(content or b"{}").get("nights") or []
        nights = [{name: night[name] for name in _NAMES} for night in known]
        return [night for night in nights if _plausible(night) and night["as_of"] < before][
            1 - MOST_NIGHTS :
        ]
    except (LeapError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def this_night(as_of: str, version: str, evaluation: dict[str, Any]) -> dict[str, Any]:
    """What later runs will know of this one."""
    return {
        "as_of": as_of,
        "version": version,
        "attempts": evaluation["attempts"],
        "w20": evaluation["w20"],
        "noise_ceiling_w20": evaluation["noise_ceiling_w20"],
    }


_NAMES = ("as_of", "version", "attempts", "w20", "noise_ceiling_w20")


def _plausible(night: dict[str, Any]) -> bool:
    date.fromisoformat(night["as_of"])
    shares = (night["w20"], night["noise_ceiling_w20"])
    return (
        isinstance(night["as_of"], str)
        and isinstance(night["version"], str)
        and isinstance(night["attempts"], int)
        and all(s is None or (isinstance(s, int | float) and 0 <= s <= 1) for s in shares)
    )
