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

    With a `scale`, the trees learn what is left of log throughput after a column of the matrix
    that physics says it grows with one to one. Trees cannot extrapolate; the column can, to a
    host count or a hardware type that no attempt of the model type ran on.

    Early stopping is off: it would split rows by their order and change with their number.
    """

    name: str = "single"
    scale: str | None = "ratio.log_peak"
    trees: int = 500
    leaves: int = 63
    learning_rate: float = 0.06
    least_rows_per_leaf: int = 10

    def fit(self, matrix: Floats, log_throughput: Floats, schema: Schema, seed: int) -> Model:
        # Here, so that naming an estimator does not cost the second that scikit-learn takes.
        from sklearn.ensemble import HistGradientBoostingRegressor

        from functions.retrain.export import export_forest
        from functions.retrain.threads import threads_for

        column = schema.names.index(self.scale) if self.scale in schema.names else None
        known = 0.0 if column is None else matrix[:, column]
        regressor = HistGradientBoostingRegressor(
            loss="absolute_error",
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            learning_rate=self.learning_rate,
            min_samples_leaf=self.least_rows_per_leaf,
            categorical_features=schema.is_categorical(),
            early_stopping=False,
            random_state=seed,
        )
        with threads_for(len(matrix)):
            regressor.fit(matrix, log_throughput - known)
        forest = export_forest(regressor)
        return Model.of_one(forest) if column is None else Model.of_one_over(forest, column)

    def settings(self) -> Mapping[str, Any]:
        return asdict(self)


ESTIMATORS: Mapping[str, Estimator] = {
    estimator.name: estimator for estimator in (Single(), Single(name="plain", scale=None))
}
"""`plain` is the paper's own target, to compare with."""
