"""A network in the manner of DNNPerf on what an attempt tells of its model and job.

DNNPerf (Gao, Gu, Zhang, Lin, Yang, 2023) predicts from the graph of operators. Attempts hold
summary values of a model's definition (parameters, operations, layers), and no graph can be had
from them: this has its job features and its head, with numbers encoded piecewise linearly, and no
graph network. What it scores says nothing of DNNPerf on graphs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bench.laboratory.encodings import PiecewiseLinear
from bench.laboratory.methods import Method
from bench.laboratory.network import Rows, Size, codes_of, fit_predict
from functions.retrain.nights import Night
from leap_model.columns import Floats, Matrix
from leap_model.features.schema import CategoryColumn

BINS = 16


def _make(trees: float) -> Method:
    size = replace(Size(), epochs=max(1, round(Size().epochs * trees)))
    constants = {**size.to_json(), "bins": BINS}
    return Method("dnn", constants, lambda night: _predicted(night, size))


def _predicted(night: Night, size: Size) -> Floats:
    rows = night.rows
    categorical = np.array(rows.schema.is_categorical())
    encoding = PiecewiseLinear.of(rows.matrix[:, ~categorical], BINS)
    # One code more for the rest, and one for missing.
    kinds = [
        len(column.values) + 2
        for column in rows.schema.columns
        if isinstance(column, CategoryColumn)
    ]

    def encoded(matrix: Matrix) -> Rows:
        return Rows(encoding(matrix[:, ~categorical]), codes_of(matrix[:, categorical], kinds))

    asked = encoded(night.encoded(rows))
    said = fit_predict(size, encoded(rows.matrix), rows.values, kinds, asked, night.settings.seed)
    return night.settings.target.of_log(said)


METHODS: Mapping[str, Callable[[float], Method]] = {"dnn": _make}
