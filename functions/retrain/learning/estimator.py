"""What a nightly run needs of a way to learn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from leap_model.columns import Floats
from leap_model.features import Schema
from leap_model.model import Model


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """n attempts as an estimator sees them.

    Attributes
    ----------
    matrix : (n, columns)
        Features, in the order of `schema`.
    values : (n,)
        Natural logs of the measured target.
    scale : str, optional
        Name of the column that `values` grow with one to one, where physics knows one.
    """

    matrix: Floats
    values: Floats
    schema: Schema
    scale: str | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and what its training has to tell.

    `notes` go into the metrics as they are; `workers_mb` is the most memory that the other
    processes of the training held together.
    """

    model: Model
    notes: Mapping[str, Any] = field(default_factory=dict)
    workers_mb: float = 0.0


class Estimator(Protocol):
    """A way to learn, with all its constants. The same for any number of processes."""

    @property
    def name(self) -> str:
        """As given to `--estimator`."""

    def fit(self, training: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        """A model of the training set; by default on as many processes as there are cores."""

    def settings(self) -> Mapping[str, Any]:
        """Everything that decides the result besides data and seed."""
