"""Attempts that repeat each other: what differs between them is noise."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from leap_model.columns import Floats, Ints, Objects
from leap_model.limits import DAY_US

MOST_ATTEMPTS = 20_000
"""Attempts looked at; of more, whole groups are left out. Noise is known well before that."""
MOST_OF_A_GROUP = 6
LONGEST_GAP_DAYS = 7
VOLATILE = 0.9
"""A name whose value differs between more than this share of consecutive runs of one job (a seed,
a run number) says nothing of what the run does."""


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
    the same configuration, allocation and architecture, one after another within days.

    Long runs of repeats are cut into groups that are close in time, so that slow drift is small
    within each.
    """
    jobs = attempts.jobs
    key = _joined(
        *(jobs.family.codes, jobs.hardware_type.codes, jobs.model_type.codes),
        *(jobs.num_trainers, jobs.batch_size, jobs.accelerators_per_host),
    )
    rows = np.lexsort((attempts.completed_at, key))
    rows = rows[_again(key[rows])]
    rows = rows[:MOST_ATTEMPTS]
    some = attempts.take(rows)
    key = key[rows]
    stated = (some.jobs.config, some.jobs.allocation, some.jobs.architecture)
    same_job = key[1:] == key[:-1]
    for column in (column for objects in stated for column in _columns(objects)):
        differs = column[1:] != column[:-1]
        if same_job.any() and np.mean(differs[same_job]) <= VOLATILE:
            key = _joined(key, column)
    order = np.lexsort((some.completed_at, key))
    return _grouped(some.take(order), key[order])


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
