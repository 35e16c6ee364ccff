"""Attempts that repeat each other: what differs between them is noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Ints, Objects
from leap_model.limits import DAY_US

MOST_ATTEMPTS, MOST_GROUPS = 60_000, 4_000
"""Of more, some are left out: noise is known well before that."""
MOST_OF_A_GROUP = 3
LONGEST_GAP_DAYS = 7
VOLATILE = 0.9
"""A name whose value differs between more than this share of consecutive runs of one job (a seed,
a run number) is taken to say nothing of what the run does."""
LEAST_LOSS = 0.005
"""A name matters where runs that differ in it agree within ±20 % less often by more than this."""
_LEAST_PAIRS = 300
_LIMIT = 0.2 * 2**0.5
"""Of the difference of two logs: it has √2 times the deviation of one."""
_RIDGE = 1.0
"""Pairs that a coefficient must outweigh, so that names which change together share one."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """m attempts in groups of two to `MOST_OF_A_GROUP`, in the order of `group`.

    Attributes
    ----------
    log_value : (m,)
        Natural log of the measured target.
    group : (m,)
        0, 0, 0, 1, 1, …
    family, model_type : (groups,)
        Codes into the labels of the attempts.
    """

    log_value: Floats
    group: Ints
    family: Ints
    model_type: Ints


def repeats(attempts: Attempts) -> Repeats:
    """The groups among n measured attempts: of one family, hardware type, hosts and batch size,
    one after another within days, the same in whatever matters of configuration, allocation and
    architecture (`_what_matters`).

    Long runs of repeats are cut into groups that are close in time, so that slow drift is small
    within each.
    """
    jobs = attempts.jobs
    key = _joined(
        *(jobs.family.codes, jobs.hardware_type.codes, jobs.model_type.codes),
        *(jobs.num_trainers, jobs.batch_size, jobs.accelerators_per_host),
    )
    # In no order that means anything, so that those left out are as good as drawn.
    key = key * 2_654_435_761 % 2**32
    rows = np.lexsort((attempts.completed_at, key))
    rows = rows[_again(key[rows])]
    rows = rows[:MOST_ATTEMPTS]
    some = attempts.take(rows)
    key = key[rows]
    stated = (some.jobs.config, some.jobs.allocation, some.jobs.architecture)
    columns = [column for objects in stated for column in _columns(objects)]
    for column in _what_matters(columns, np.log(some.measured), key):
        key = _joined(key, column)
    order = np.lexsort((some.completed_at, key))
    return _grouped(some.take(order), key[order])


def _what_matters(columns: Sequence[Ints], log_value: Floats, key: Ints) -> Sequence[Ints]:
    """The columns that must agree for two attempts to be repeats.

    Where a zone or a host is drawn anew for each launch, exact repeats are rare, and most of what
    is drawn says nothing. Over all pairs of consecutive runs of one key, whether the two agree
    within ±20 % is regressed on which columns differ: those that cost at least `LEAST_LOSS`
    matter. With few pairs all columns do.
    """
    pairs = np.flatnonzero(key[1:] == key[:-1])
    if not columns or not len(pairs):
        return columns
    differs = np.stack([column[pairs + 1] != column[pairs] for column in columns], axis=1)
    share = differs.mean(axis=0)
    kept = np.flatnonzero((share > 0) & (share <= VOLATILE))
    if len(pairs) >= _LEAST_PAIRS:
        agrees = np.abs(log_value[pairs + 1] - log_value[pairs]) <= _LIMIT
        x = differs[:, kept] - share[kept]
        moments = x.T @ x + _RIDGE * np.eye(len(kept))
        loss = -np.linalg.solve(moments, x.T @ (agrees - agrees.mean()))
        kept = kept[loss > LEAST_LOSS]
    return [columns[int(at)] for at in kept]


def _grouped(attempts: Attempts, key: Ints) -> Repeats:
    """The groups of attempts that are ordered by key and time."""
    completed = attempts.completed_at
    new = np.append(True, key[1:] != key[:-1])
    new[1:] |= np.diff(completed) > LONGEST_GAP_DAYS * DAY_US
    starts = np.flatnonzero(new[: len(key)])
    lengths = np.diff(np.append(starts, len(key)))
    place = np.arange(len(key)) - np.repeat(starts, lengths)
    parts = np.repeat(-(-lengths // MOST_OF_A_GROUP), lengths)
    # Equal parts, so that none is left with a single attempt where there were two.
    part = place * parts // np.repeat(lengths, lengths)
    group = _joined(np.repeat(np.arange(len(starts)), lengths), part)
    kept = np.flatnonzero(_again(group))
    held = np.unique(group[kept])
    if len(held) > MOST_GROUPS:
        held = held[np.linspace(0, len(held) - 1, MOST_GROUPS).astype(np.int64)]
        kept = kept[np.isin(group[kept], held)]
    _, first, numbered = np.unique(group[kept], return_index=True, return_inverse=True)
    jobs = attempts.jobs
    heads = kept[first]
    return Repeats(
        np.log(attempts.measured[kept]),
        numbered.astype(np.int64),
        jobs.family.codes[heads].astype(np.int64),
        jobs.model_type.codes[heads].astype(np.int64),
    )


def _again(key: Ints) -> NDArray[np.bool_]:
    """(n,) whether a key occurs more than once."""
    _, which, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] > 1)


def _joined(*columns: NDArray[np.generic]) -> Ints:
    """(n,) a code for each distinct row; a missing number equals a missing number."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, values = np.unique(column, return_inverse=True)
        pairs = code * (int(values.max(initial=0)) + 1) + values
        _, code = np.unique(pairs, return_inverse=True)
    return code.astype(np.int64)


def _columns(objects: Objects) -> Iterator[Ints]:
    for entry in objects.by_name.values():
        yield _joined(entry.numbers, entry.labels.codes)
