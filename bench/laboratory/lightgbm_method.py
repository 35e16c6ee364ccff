"""LightGBM, a peer's histogram GBDT, on the same rows and columns as LEAP's own."""

from collections.abc import Callable, Mapping
from typing import Any

import lightgbm  # type: ignore[import-not-found,unused-ignore]

from bench.laboratory.methods import Method
from functions.retrain.learning.threads import cores
from functions.retrain.nights import Night
from leap_model.columns import Floats

CONSTANTS: Mapping[str, Any] = {
    "objective": "l1",
    "num_leaves": 63,
    "learning_rate": 0.06,
    "min_data_in_leaf": 10,
}
"""Those of the estimator `single`, by LightGBM's names; what they lack is its default."""
TREES = 500


def _method(name: str, scaled: bool) -> Callable[[float], Method]:
    def make(trees: float) -> Method:
        count = max(1, round(TREES * trees))
        constants = {
            **CONSTANTS,
            "trees": count,
            "scaled": scaled,
            "lightgbm": lightgbm.__version__,
        }
        return Method(name, constants, lambda night: _predicted(night, count, scaled))

    return make


def _predicted(night: Night, trees: int, scaled: bool) -> Floats:
    rows = night.rows
    names = rows.schema.names
    column = names.index(str(rows.scale)) if scaled and rows.scale in names else None
    offset = 0.0 if column is None else rows.matrix[:, column]
    categorical = [at for at, is_one in enumerate(rows.schema.is_categorical()) if is_one]
    parameters = {
        **CONSTANTS,
        "seed": night.settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": night.settings.processes or cores(),
        "verbosity": -1,
    }
    data = lightgbm.Dataset(
        rows.matrix, rows.values - offset, categorical_feature=categorical, free_raw_data=False
    )
    model = lightgbm.train(parameters, data, trees)
    matrix = night.encoded(rows)
    said: Floats = model.predict(matrix) + (0.0 if column is None else matrix[:, column])
    return night.settings.target.of_log(said)


METHODS: Mapping[str, Callable[[float], Method]] = {
    "lightgbm": _method("lightgbm", scaled=False),
    "lightgbm-scaled": _method("lightgbm-scaled", scaled=True),
}
"""On log throughput itself as the estimator `plain`, and on what is left of it after the log of
the job's peak rate as `single`."""
