"""How much of what ran before to believe: measured on the last days, which no network saw."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.memory import Memory
from leap_model.columns import Floats, Ints
from leap_model.limits import DAY_US
from leap_model.references import Asked, Known, Recall

SHARE = 0.10
"""Of the training rows, the latest, that are held back."""
FEWEST = 200
"""Rows held back below which the constants stay as they are."""
MOST_ASKED = 3_000
"""Rows held back that are asked about."""
_FARTHEST = 0.5
"""An error beyond it, in logarithms, is no worse than it."""
_AS_GOOD = 1.01
"""Times the least error, up to which the widest `near` is taken: which of two does a little better
is chance, and the level of more neighbours varies less from night to night."""
_ROUNDS = 2
_TRIED = {
    "shrink": (0.03, 0.1, 0.3, 1.0, 3.0),
    "distance": (0.3, 1.0, 2.0, 4.0),
    "strangers": (0.0, 0.01, 0.05, 0.2),
    "elsewhere": (0.03, 0.1, 0.3, 1.0),
    "days": (7.0, 30.0, 365.0),
    "own": (0.0, 0.25, 0.5, 0.75),
    "peers": (0.0, 0.25, 0.5, 0.75, 1.0),
    "near": (0.1, 0.3, 1.0, 3.0),
}


def held_back(completed_at: Ints) -> NDArray[np.bool_]:
    """(n,) the last whole days that hold at least a tenth of the rows, none where they are few or
    nothing would be left before them."""
    days = completed_at // DAY_US
    latest = np.sort(days)[::-1]
    first = latest[max(round(SHARE * len(days)) - 1, 0)] if len(days) else 0
    back = days >= first
    nothing = np.zeros(len(days), bool)
    return back if FEWEST <= back.sum() <= len(days) / 2 else nothing


def corrected(said: Floats, scale: Floats, known: Known, most: float) -> Floats:
    """(n,) the prediction: the network's and its rest, and as much of a known level as it is worth,
    at most `most` away from the network."""
    network = said + known.rest
    step = np.clip(scale + known.level - network, -most, most)
    return network + known.own * step


def choose(
    memory: Memory, asked: Asked, before: Ints, said: Floats, scale: Floats, values: Floats
) -> tuple[Recall, float, float]:
    """The constants that predict n held-back attempts best, and the mean error without and with.

    Where all of them make it worse, nothing is recalled: their `most` is 0.

    Parameters
    ----------
    memory : Memory
        What had completed before them, and what the network, which saw none of them, left of it.
    asked, before : Asked, (n,) int64
        The attempts, and the moment that ends what each may know.
    said, scale, values : (n,)
        Logs: what the network says of them, their scale, and what they measured.
    """
    references = {int(moment): memory.as_of(int(moment)) for moment in np.unique(before)}

    def error(recall: Recall) -> float:
        predicted = said.copy()
        for moment, known_then in references.items():
            rows = np.flatnonzero(before == moment)
            known = replace(known_then, recall=recall).recalled(asked.take(rows))
            predicted[rows] = corrected(said[rows], scale[rows], known, recall.most)
        return float(np.mean(np.minimum(np.abs(values - predicted), _FARTHEST)))

    alone = float(np.mean(np.minimum(np.abs(values - said), _FARTHEST)))
    best = replace(memory.recall, most=float(np.quantile(np.abs(memory.rest), 0.99)))
    best, least = _least(best, error)
    if best.peers:
        best, least = _widest(best, error)
    if alone < least:
        # No correction exceeds nothing.
        return replace(best, most=0.0), alone, alone
    return best, alone, least


def _least(best: Recall, error: Callable[[Recall], float]) -> tuple[Recall, float]:
    """The constants of the least error that one change after the other finds, and it."""
    least = error(best)
    for _ in range(_ROUNDS):
        before_round = least
        for name, tried in _TRIED.items():
            if name == "near" and not best.peers:
                continue  # it would change nothing
            for value in tried:
                other = replace(best, **{name: value})
                if other != best and (found := error(other)) < least:
                    best, least = other, found
        if least == before_round:
            break
    return best, least


def _widest(recall: Recall, error: Callable[[Recall], float]) -> tuple[Recall, float]:
    """With the widest `near` that does about as well as the best, and its error."""
    reaches = {near: error(replace(recall, near=near)) for near in _TRIED["near"]}
    most = _AS_GOOD * min(reaches.values())
    near = max(near for near, found in reaches.items() if found <= most)
    return replace(recall, near=near), reaches[near]


def sampled(rows: Ints, most: int = MOST_ASKED) -> Ints:
    """At most so many of the rows, at equal steps."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
