"""One regressor for everything."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from functions.retrain.learning.boosting import Boosting, regressor
from functions.retrain.learning.cluster import Cluster
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.experts import Fitting
from functions.retrain.learning.threads import threads_for
from functions.retrain.learning.workers import Processes, workers
from leap_model.model import Model
from leap_model.trees import Forest


@dataclass(frozen=True, slots=True)
class Single:
    """One histogram GBDT on the log of the target.

    With `scaled` the trees learn what is left of it after the column of the matrix that physics
    says it grows with one to one. Trees cannot extrapolate; the column can, to a host count or a
    hardware type that no attempt of the model type ran on.
    """

    name: str = "single"
    scaled: bool = True
    trees: int = 500
    leaves: int = 63
    learning_rate: float = 0.06
    least_rows_per_leaf: int = 10

    @property
    def tried(self) -> "Single":
        return self

    def fit(self, training: TrainingSet, seed: int, processes: Processes = None) -> Fitted:
        names = training.schema.names
        known = self.scaled and training.scale in names
        column = names.index(str(training.scale)) if known else None
        boosting = Boosting(self.trees, self.leaves, self.learning_rate, self.least_rows_per_leaf)
        # A process of its own would gain nothing here; a cluster's machine may be the larger one.
        asked = processes if isinstance(processes, Cluster) else 1
        with workers(len(training), asked, training.keeping) as pool:
            threads = threads_for(len(training)) if pool.alone else 1
            fitting = Fitting(training, seed, threads)
            (forest,) = pool.run([(fit_rest, fitting, boosting, column)])
            peak = pool.peak_mb
        model = Model.of_one(forest) if column is None else Model.of_one_over(forest, column)
        return Fitted(model, workers_mb=peak)

    def settings(self) -> Mapping[str, Any]:
        return asdict(self)


def fit_rest(fitting: Fitting, size: Boosting, column: int | None) -> Forest:
    """A forest of what is left of the target after a column, or of all of it."""
    training = fitting.training
    values = training.values - (0.0 if column is None else training.matrix[:, column])
    parts = (training.matrix, values, fitting.categorical, size, fitting.seed, fitting.threads)
    return regressor(*parts)
