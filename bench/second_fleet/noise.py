"""The noise of the second fleet: heavy tails, moods of a family, and bad days of a type."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints

_MEMORY = 0.8  # correlation of a family's mood from one day to the next
_MOOD, _RUN = 0.45, 0.75  # shares of a family's scale
_FREEDOM = 3  # of Student's t
_LAPSES, _LAPSE = 0.03, 0.35  # runs that something holds up, and the mean log of by how much
_BAD, _WORSE = 0.06, 0.22  # type-days that are slow, and at most by how much


@dataclass(frozen=True)
class Conditions:
    """One day: the log mood of every family, in units of its scale, and of every type."""

    moods: Floats
    types: Floats


class Weather:
    """Moods that last: each day follows from the one before."""

    def __init__(self, rng: np.random.Generator, families: int, types: int) -> None:
        self._rng = rng
        self._moods = rng.standard_normal(families)
        self._types = types

    def next_day(self) -> Conditions:
        """Conditions of the next day; days are asked for in order."""
        fresh = self._rng.standard_normal(len(self._moods))
        self._moods = _MEMORY * self._moods + np.sqrt(1 - _MEMORY**2) * fresh
        slow = self._rng.random(self._types) < _BAD
        by = self._rng.uniform(0.05, _WORSE, self._types)
        return Conditions(moods=self._moods, types=np.where(slow, -by, 0.0))


def draw_noise(
    rng: np.random.Generator, today: Conditions, family: Ints, type_: Ints, scale: Floats
) -> Floats:
    """Log noise of runs, (rows,): mood, the day of the type, a heavy tail, and lapses."""
    count = len(family)
    tail = np.clip(rng.standard_t(_FREEDOM, count), -12, 12)
    lapse = np.where(rng.random(count) < _LAPSES, rng.exponential(_LAPSE, count) + 0.1, 0.0)
    return np.asarray(
        scale * (_MOOD * today.moods[family] + _RUN * tail) + today.types[type_] - lapse
    )
