"""Estimators: from a feature matrix and log throughputs to a model, by name."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from leap_model.columns import Floats
from leap_model.features import Schema
from leap_model.model import Model


class Estimator(Protocol):
    """What a nightly run needs of a way to learn."""

    @property
    def name(self) -> str:
        """As given to `--estimator`."""

    def fit(self, matrix: Floats, log_throughput: Floats, schema: Schema, seed: int) -> Model:
        """A model from an (n, columns) matrix and (n,) natural logs of samples per second."""

    def settings(self) -> Mapping[str, Any]:
        """Everything that decides the result besides data and seed."""


@dataclass(frozen=True, slots=True)
class Single:
    """One histogram GBDT on log throughput. Absolute error, since the median is what is wanted.

    Early stopping is off: it would split rows by their order and change with their number.
    """

    trees: int = 500
    leaves: int = 63
    learning_rate: float = 0.06
    least_rows_per_leaf: int = 10
    l2: float = 0.0
    max_features: float = 1.0

    @property
    def name(self) -> str:
        return "single"

    def fit(self, matrix: Floats, log_throughput: Floats, schema: Schema, seed: int) -> Model:
        # Here, so that naming an estimator does not cost the second that scikit-learn takes.
        from sklearn.ensemble import HistGradientBoostingRegressor

        from functions.retrain.export import export_forest

        regressor = HistGradientBoostingRegressor(
            loss="absolute_error",
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            learning_rate=self.learning_rate,
            min_samples_leaf=self.least_rows_per_leaf,
            l2_regularization=self.l2,
            max_features=self.max_features,
            categorical_features=schema.is_categorical(),
            early_stopping=False,
            random_state=seed,
        )
        regressor.fit(matrix, log_throughput)
        return Model.of_one(export_forest(regressor))

    def settings(self) -> Mapping[str, Any]:
        return {"name": self.name, **asdict(self)}


ESTIMATORS: Mapping[str, Estimator] = {"single": Single()}
