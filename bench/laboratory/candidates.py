"""Every job of a night on every hardware type that could host it, as a launcher would ask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from functions.retrain.nights import Night
from leap_model.columns import Codes, Floats, Ints, Jobs, Labels, Objects, Open


@dataclass(frozen=True, slots=True)
class Asked:
    """A night asked of its own n jobs, and after them of m candidates.

    Candidate c is the job `rows[c]` on the type `columns[c]`.
    """

    night: Night
    jobs: int
    rows: Ints
    columns: Ints
    types: int

    def own(self, predicted: Floats) -> Floats:
        """(n,) what was said of the jobs as they ran."""
        return predicted[: self.jobs]

    def grid(self, predicted: Floats) -> Floats:
        """(n, types) what was said of the candidates, NaN where there is none."""
        values = np.full((self.jobs, self.types), np.nan)
        values[self.rows, self.columns] = predicted[self.jobs :]
        return values


def ask_all(night: Night, types: Sequence[str], hosts: NDArray[np.bool_]) -> Asked:
    """The night with each job as it ran and on each type that hosts it.

    Parameters
    ----------
    night : Night
        Of n jobs.
    types : sequence of str
        Hardware types by the catalogue's own names.
    hosts : (n, types) bool
        Which types are asked about.
    """
    rows, columns = np.nonzero(hosts)
    every = np.concatenate([np.arange(len(night.jobs)), rows])
    jobs = night.jobs.jobs.take(every)
    used = jobs.hardware_type
    places = np.array(
        [used.values.index(name) if name in used.values else -1 for name in types], np.int64
    )
    fresh = [at for at in range(len(types)) if places[at] < 0]
    places[fresh] = len(used.values) + np.arange(len(fresh))
    names = (*used.values, *(types[at] for at in fresh))
    codes = used.codes.copy()
    codes[len(night.jobs) :] = places[columns]
    moved = _moved(jobs, Labels(codes, names))
    unknown = np.full(len(every), np.nan)
    attempts = Attempts(moved, night.jobs.completed_at[every], unknown, unknown)
    return Asked(night.asked_of(attempts, every), len(night.jobs), rows, columns, len(types))


def _moved(jobs: Jobs, types: Labels) -> Jobs:
    """The jobs on other types. What their launcher said of the type they ran on goes: the number
    of accelerators a host becomes the catalogue's, and where an allocation's text names the type
    it names the other one."""
    used = jobs.hardware_type
    elsewhere = types.codes != used.codes
    return replace(
        jobs,
        hardware_type=types,
        accelerators_per_host=np.where(elsewhere, np.nan, jobs.accelerators_per_host),
        allocation=Objects(
            jobs.allocation.rows,
            {
                name: Open(entry.numbers, _renamed(entry.labels, used, types))
                for name, entry in jobs.allocation.by_name.items()
            },
        ),
    )


def _renamed(texts: Labels, used: Labels, types: Labels) -> Labels:
    triples = np.stack([texts.codes, used.codes, types.codes])
    distinct, which = np.unique(triples, axis=1, return_inverse=True)
    renamed = Labels.of(
        _other_type(texts, int(text), used.values[before], types.values[after])
        for text, before, after in distinct.T
    )
    codes: Codes = renamed.codes[which.ravel()]
    return Labels(codes, renamed.values)


def _other_type(texts: Labels, code: int, before: str, after: str) -> str | None:
    return None if code < 0 else texts.values[code].replace(before, after)
