"""One regressor for everything."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from functions.retrain.learning.boosting import Boosting, regressor
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.threads import threads_for
from leap_model.model import Model


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

    def fit(self, training: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        names, matrix = training.schema.names, training.matrix
        known = self.scaled and training.scale in names
        column = names.index(str(training.scale)) if known else None
        values = training.values - (0.0 if column is None else matrix[:, column])
        boosting = Boosting(self.trees, self.leaves, self.learning_rate, self.least_rows_per_leaf)
        threads = threads_for(len(training))
        forest = regressor(
            matrix, values, training.schema.is_categorical(), boosting, seed, threads
        )
        return Fitted(Model.of_one(forest) if column is None else Model.of_one_over(forest, column))

    def settings(self) -> Mapping[str, Any]:
        return asdict(self)
