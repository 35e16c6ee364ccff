"""Champion and challengers: whether what serves now should give way, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from functions.retrain.differences import paired

LEAST_DAYS = 2
"""Fewer give no interval."""


@dataclass(frozen=True, slots=True)
class Incumbent:
    """What the version in service says of itself: its estimator, and the seconds that each
    contender took in its trial."""

    estimator: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> "Incumbent":
        """By a version's metrics; what is damaged in them is not known."""
        name, seconds = report.get("estimator"), dict[str, float]()
        try:
            for one in (report.get("trial") or {}).get("contenders") or []:
                if one["w20"] is not None and 0 <= one["seconds"] < math.inf:
                    seconds[str(one["name"])] = float(one["seconds"])
        except (TypeError, KeyError, AttributeError):
            seconds = {}
        return cls(name if isinstance(name, str) else None, seconds)


@dataclass(frozen=True, slots=True)
class Tried:
    """An estimator on the days of a trial.

    `w20` has a share for each day, or is None where `reason` says why there are none. `seconds`
    is what fitting and asking it took.
    """

    name: str
    w20: tuple[float, ...] | None
    seconds: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Which estimator is published, and why. `differences` are w20 less the champion's, by day."""

    champion: str
    chosen: str
    why: str
    differences: Mapping[str, Mapping[str, Any]]


def chosen_of(champion: str, tried: Sequence[Tried]) -> Choice:
    """The champion, unless a challenger's w20 is higher by a 95 % interval that excludes zero.

    Of several such challengers it is the one with the greatest mean difference. A champion that
    has no figures gives way to the challenger with the best mean; where none has any, it stays.
    """
    scores = {one.name: one.w20 for one in tried if one.w20 is not None}
    own = scores.pop(champion, None)
    if own is None:
        return _instead(champion, scores, tried)
    differences = {
        name: paired([its - ours for its, ours in zip(w20, own, strict=True)])
        for name, w20 in scores.items()
    }
    better = {name: d["mean"] for name, d in differences.items() if (d["low"] or 0.0) > 0.0}
    if not better:
        return Choice(champion, champion, _stays(champion, differences), differences)
    best = max(better, key=lambda name: better[name])
    told = _told(differences[best])
    why = f"{best} takes the place of {champion}: {told}"
    return Choice(champion, best, why, differences)


def _instead(
    champion: str, scores: Mapping[str, tuple[float, ...]], tried: Sequence[Tried]
) -> Choice:
    reason = next((one.reason for one in tried if one.name == champion), None)
    why = f"{champion} was not tried: {reason or 'it is not configured'}"
    if not scores:
        return Choice(champion, champion, why, {})
    best = max(scores, key=lambda name: sum(scores[name]))
    return Choice(champion, best, f"{best} is the best of those tried; {why}", {})


def _stays(champion: str, differences: Mapping[str, Mapping[str, Any]]) -> str:
    if not differences:
        return f"{champion} stays: no challenger was tried"
    best = max(differences, key=lambda name: differences[name]["mean"])
    told = _told(differences[best])
    return f"{champion} stays: no challenger is surely better; {best} has {told}"


def _told(difference: Mapping[str, Any]) -> str:
    mean, low, high = (difference[name] * 100 for name in ("mean", "low", "high"))
    return f"{mean:+.1f} points of w20 ({low:+.1f} to {high:+.1f}, {difference['nights']} days)"
