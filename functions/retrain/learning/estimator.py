"""What a nightly run needs of a way to learn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.learning.digests import Data
from functions.retrain.learning.kept import Keeping
from functions.retrain.learning.memory import Memory
from functions.retrain.learning.workers import Processes
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Matrix
from leap_model.features import Schema
from leap_model.intervals import Intervals
from leap_model.model import Model


@dataclass(frozen=True, slots=True)
class Source:
    """What a training set was made of: n attempts, the catalogue, and the sources of columns that
    were left out."""

    attempts: Attempts
    catalogue: Catalogue
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TrainingSet(Data):
    """n attempts as an estimator sees them.

    Attributes
    ----------
    matrix : (n, columns)
        Features, in the order of `schema`.
    values : (n,)
        Natural logs of the measured target.
    scale : str, optional
        Name of the column that `values` grow with one to one, where physics knows one.
    source : Source, optional
        Where the rows come from, for estimators that make more of them than `matrix`.
    keeping : Keeping, optional
        Where finished fits are kept.
    """

    matrix: Matrix
    values: Floats
    schema: Schema
    scale: str | None = None
    source: Source | None = None
    keeping: Keeping | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and what its training has to tell.

    `notes` go into the metrics as they are; `workers_mb` is the most memory that the other
    processes of the training held together. `schema` is the model's own, where it is not the
    training set's. `memory` is what the model recalls of past attempts, and `intervals` how
    far off it may be, where it does either.
    """

    model: Model
    notes: Mapping[str, Any] = field(default_factory=dict)
    workers_mb: float = 0.0
    schema: Schema | None = None
    memory: Memory | None = None
    intervals: Intervals | None = None


class Estimator(Protocol):
    """A way to learn, with all its constants. The same by any processes."""

    @property
    def name(self) -> str:
        """As given to `--estimator`."""

    @property
    def tried(self) -> "Estimator":
        """What stands for it in a trial: itself, or what does no better and takes less time."""

    def fit(self, training: TrainingSet, seed: int, processes: Processes = None) -> Fitted:
        """A model of the training set; by default on as many processes as there are cores."""

    def settings(self) -> Mapping[str, Any]:
        """Everything that decides the result besides data and seed."""


def scale_of(matrix: Matrix, schema: Schema, scale: str | None) -> Floats:
    """(n,) the column that the target grows with, 0 where there is none."""
    if scale is None or scale not in schema.names:
        return np.zeros(len(matrix))
    column = matrix[:, schema.names.index(scale)]
    return column.astype(np.float64)
