"""What the report of the version that a run follows tells of it, and of the nights before."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from leap_model.errors import LeapError
from leap_model.pointer import Pointer
from leap_model.store import Store

MOST_NIGHTS = 60


def report_of(store: Store, target: str, pointer: Pointer | None) -> Mapping[str, Any]:
    """The metrics of the version that a stage points at, whose content may be anything.

    Empty where they are gone or damaged: that is no reason to fail a night.
    """
    if pointer is None:
        return {}
    try:
        content = store.read(f"reports/{target}/{pointer.version}/metrics.json")
        report = json.loads(content or b"{}")
    except (LeapError, ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}


def earlier_nights(report: Mapping[str, Any], before: str) -> list[Any]:
    """Figures of the nights whose versions a stage pointed at, oldest first.

    Each run's metrics hold its own night after those of the version that was pointed at, so one
    report tells all of them. Nights from `before`, the run's date, on are left out.
    """
    try:
        known = report.get("nights") or []
        nights = [{name: night[name] for name in _NAMES} for night in known]
        return [night for night in nights if _plausible(night) and night["as_of"] < before][
            1 - MOST_NIGHTS :
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
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
