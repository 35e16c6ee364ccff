"""What earlier attempts of a job family showed, as of a moment.

Training rows and the snapshot that serves come from the same function over the same table, so
that training never sees what serving could not: the history of a row holds the attempts that
completed before the start of the UTC day of its launch, and nothing else.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.columns import Floats, Ints, Labels
from leap_model.limits import DAY_US, MOST_FAMILIES

Hashes: TypeAlias = NDArray[np.uint64]

_LONG = 64
"""Rows from which on a family is worth a loop of its own."""


@dataclass(frozen=True, slots=True)
class History:
    """History of n families. All (n,); without an earlier attempt `runs` is 0, the rest NaN.

    `last`, `mean` and `std` are of the natural log of the target in its own unit, in the precision
    that a snapshot keeps: 32 bits. `std` divides by the number of runs (0 for a single one).
    `last_completed_at` is in microseconds UTC, 0 where there is none.
    """

    last: Floats
    mean: Floats
    std: Floats
    runs: Floats
    last_completed_at: Ints

    def take(self, rows: NDArray[np.int64]) -> "History":
        """The histories at some rows."""
        return History(
            self.last[rows],
            self.mean[rows],
            self.std[rows],
            self.runs[rows],
            self.last_completed_at[rows],
        )

    def days_since(self, launched_at: Ints) -> Floats:
        """(n,) days from the last earlier attempt to the launch, never below 0, NaN without one."""
        days = np.maximum(launched_at - self.last_completed_at, 0) / DAY_US
        return np.where(self.runs > 0, days, np.nan)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The attempts that history is made of: those with a usable measurement. All (m,)."""

    family: Hashes
    completed_at: Ints
    log_value: Floats


def family_hashes(families: Labels) -> Hashes:
    """(n,) 64 bits of SHA-256 of each family: what stands for its name in a snapshot."""
    hashed = [
        int.from_bytes(hashlib.sha256(f.encode()).digest()[:8], "big") for f in families.values
    ]
    return np.array(hashed, np.uint64)[families.codes] if hashed else np.zeros(0, np.uint64)


def cutoffs(launched_at: Ints) -> Ints:
    """(n,) the start of the UTC day of each launch: what completed before it is history."""
    return launched_at // DAY_US * DAY_US


def history_as_of(outcomes: Outcomes, family: Hashes, before: Ints) -> History:
    """The history of each (family, moment) asked for.

    Parameters
    ----------
    outcomes : Outcomes
        m attempts in any order.
    family : (n,) uint64
    before : (n,) int64
        Only attempts that completed before this moment count.

    Returns
    -------
    History
        n rows, independent of the order of the outcomes.
    """
    order = np.lexsort((outcomes.log_value, outcomes.completed_at, outcomes.family))
    families = outcomes.family[order]
    completed = outcomes.completed_at[order]
    values = outcomes.log_value[order]

    end = _positions(families, completed, family, before)
    start = np.searchsorted(families, family, side="left")
    runs = (end - start).astype(np.float64)
    some = runs > 0

    # Sums are taken around each family's first value, which keeps digits and makes the deviation
    # of a single run exactly 0.
    is_head = np.append(True, families[1:] != families[:-1])[: len(families)]
    heads = np.flatnonzero(is_head)
    offset = values - np.repeat(values[heads], np.diff(np.append(heads, len(values))))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _at(_running(offset, heads), end - 1, some, np.nan) / runs
        variance = _at(_running(offset**2, heads), end - 1, some, np.nan) / runs - mean**2
    return History(
        last=_kept(_at(values, end - 1, some, np.nan)),
        mean=_kept(np.where(some, mean, np.nan) + _at(values, start, some, np.nan)),
        std=_kept(np.where(some, np.sqrt(np.maximum(variance, 0.0)), np.nan)),
        runs=runs,
        last_completed_at=_at(completed, end - 1, some, 0),
    )


def _kept(values: Floats) -> Floats:
    """The values as a snapshot keeps them: training sees no more of them than serving."""
    return values.astype(np.float32).astype(np.float64)


def _running(values: Floats, heads: Ints) -> Floats:
    """(n,) sums from each family's head up to each row.

    No sum runs across families: other families' values must not reach this one's last digits.
    Short families advance together, one row of each at a time; long ones one family at a time.
    """
    sums = values.copy()
    lengths = np.diff(np.append(heads, len(values)))
    for head, length in zip(heads[lengths > _LONG], lengths[lengths > _LONG], strict=True):
        sums[head : head + length] = np.cumsum(values[head : head + length])
    heads, lengths = heads[lengths <= _LONG], lengths[lengths <= _LONG]
    for row in range(1, int(lengths.max(initial=0))):
        at = heads[lengths > row] + row
        sums[at] += sums[at - 1]
    return sums


def _at(values: NDArray[Any], at: Ints, some: NDArray[np.bool_], otherwise: float) -> NDArray[Any]:
    """`values[at]` where `some`, elsewhere `otherwise`."""
    result = np.full(len(at), otherwise, values.dtype)
    result[some] = values[at[some]]
    return result


def _positions(families: Hashes, completed: Ints, family: Hashes, before: Ints) -> Ints:
    """For each query, how many sorted (family, completed) pairs lie before it.

    One merge of both tables: queries sort ahead of attempts that completed at that very moment.
    """
    count, queries = len(families), len(family)
    is_attempt = np.concatenate((np.ones(count, np.int8), np.zeros(queries, np.int8)))
    order = np.lexsort(
        (
            is_attempt,
            np.concatenate((completed, before)),
            np.concatenate((families, family)),
        )
    )
    seen = np.cumsum(is_attempt[order], dtype=np.int64)
    at_query = order >= count
    result = np.empty(queries, np.int64)
    result[order[at_query] - count] = seen[at_query]
    return result


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The history that travels in an artifact: one row a family, sorted by hash. Out of an artifact
    its numbers are of 32 bits, which hold the same."""

    family: Hashes
    history: History

    def lookup(self, family: Hashes) -> History:
        """The history of each family asked for; families not in the snapshot have none."""
        if not len(self.family):
            return no_history(len(family))
        at = np.minimum(self.family.searchsorted(family), len(self.family) - 1)
        unknown = self.family[at] != family
        if unknown.all():
            return no_history(len(family))
        found = self.history.take(at)
        last, mean, std, runs = (
            values.astype(np.float64) for values in (found.last, found.mean, found.std, found.runs)
        )
        if unknown.any():  # the candidates of a ranking are of one family
            last[unknown] = mean[unknown] = std[unknown] = np.nan
            runs[unknown] = 0.0
            found.last_completed_at[unknown] = 0
        return History(last, mean, std, runs, found.last_completed_at)


def no_history(rows: int) -> History:
    """What a family has that never ran."""
    nothing = np.full(rows, np.nan)
    return History(nothing, nothing, nothing, np.zeros(rows), np.zeros(rows, np.int64))


def snapshot_as_of(outcomes: Outcomes, before: int, most: int = MOST_FAMILIES) -> Snapshot:
    """The snapshot of everything that completed before a moment.

    Of more than `most` families the most recently run ones stay.
    """
    seen = outcomes.completed_at < before
    families = np.unique(outcomes.family[seen])
    history = history_as_of(outcomes, families, np.full(len(families), before, np.int64))
    if len(families) > most:
        recent = np.lexsort((families, -history.last_completed_at))[:most]
        kept = np.sort(recent)
        families, history = families[kept], history.take(kept)
    return Snapshot(families, history)
