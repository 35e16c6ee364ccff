"""Runs in the environment of arise-predictions: FOLDER/train.csv and asked.csv to said.csv."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]
from arise_predictions.auto_model.build_models import (  # type: ignore[import-not-found,unused-ignore]
    auto_build_models,
    get_estimators_config_from_dict,
)
from arise_predictions.utils import constants, utils  # type: ignore[import-not-found,unused-ignore]

TARGET = "log_throughput"


def main(folder: Path, trees: int) -> None:
    """Let it search, and predict with the regressor that it ranks first."""
    train = pd.read_csv(folder / "train.csv", keep_default_na=False)
    asked = pd.read_csv(folder / "asked.csv", keep_default_na=False)
    candidates = [
        ("linear", "sklearn.linear_model.LinearRegression", True, {}),
        (
            "xgboost",
            "xgboost.XGBRegressor",
            False,
            {"estimator__max_depth": [6, 10], "estimator__n_estimators": [trees]},
        ),
        (
            "forest",
            "sklearn.ensemble.ExtraTreesRegressor",
            False,
            {"estimator__n_estimators": [max(1, trees // 3)]},
        ),
    ]
    names = ("name", "class_name", "linear", "parameters")
    config = {"estimators": [dict(zip(names, entry, strict=True)) for entry in candidates]}
    output = str(folder / "models")
    Path(output).mkdir()
    search = get_estimators_config_from_dict(config)
    auto_build_models(train, search, target_variables=[TARGET], output_path=output)
    ranking = pd.read_csv(Path(output) / constants.AM_RANKINGS_FILE)
    name, linear = utils.get_best_estimators(ranking, TARGET, linear_filter=False)
    file = utils.get_estimator_file_name("linear" if linear else "nonlinear", name, TARGET)
    np.savetxt(folder / "said.csv", utils.load_estimator(output, file).predict(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
