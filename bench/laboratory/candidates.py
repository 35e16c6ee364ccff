"""Every job of a night on every hardware type that could host it, as a launcher would ask."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.retrain.dataset import Attempts
from functions.retrain.elsewhere import on_types
from functions.retrain.nights import Night
from leap_model.columns import Floats, Ints


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
    as_they_ran = np.full(len(night.jobs), -1)
    moved = on_types(night.jobs.jobs, types, every, np.concatenate([as_they_ran, columns]))
    unknown = np.full(len(every), np.nan)
    attempts = Attempts(moved, night.jobs.completed_at[every], unknown, unknown)
    return Asked(night.asked_of(attempts, every), len(night.jobs), rows, columns, len(types))
