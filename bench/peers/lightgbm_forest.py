"""LightGBM and Treelite over linked trees, on one thread: the same trees, sets included."""

import ctypes
from typing import Any, Final

import numpy as np

from bench.peers.lightgbm_text import lightgbm_text
from functions.retrain.learning.linked import LinkedTrees
from leap_model.columns import Floats

_THREADS: Final = b"num_threads=1"
_FLOAT64, _RAW_SCORE, _ALL = 1, 1, -1
"""Of LightGBM's C API."""


class LightgbmForest:
    """A booster of linked trees; two ways to ask it for the (n, outputs) scores of a matrix."""

    def __init__(self, trees: LinkedTrees) -> None:
        import lightgbm

        self._outputs = len(trees.baseline)
        self.booster: Any = lightgbm.Booster(model_str=lightgbm_text(trees))
        self._library: Any = lightgbm.basic._LIB
        self._fast = ctypes.c_void_p()
        code = self._library.LGBM_BoosterPredictForMatSingleRowFastInit(
            *(self.booster._handle, _RAW_SCORE, 0, _ALL, _FLOAT64),
            *(ctypes.c_int32(trees.n_inputs), _THREADS, ctypes.byref(self._fast)),
        )
        if code:
            raise RuntimeError("LightGBM does not make its fast configuration")

    def by_predict(self, matrix: Floats) -> Floats:
        """By `Booster.predict`."""
        found = self.booster.predict(matrix, raw_score=True, num_threads=1)
        return np.reshape(found, (len(matrix), self._outputs))

    def by_rows(self, matrix: Floats) -> Floats:
        """By the C API's fast call for one row, which sets nothing up, a row at a time."""
        ordered = np.ascontiguousarray(matrix, np.float64)
        scores = np.empty((len(ordered), self._outputs))
        call, count = self._library.LGBM_BoosterPredictForMatSingleRowFast, ctypes.c_int64()
        for row, result in zip(
            range(ordered.ctypes.data, ordered.ctypes.data + ordered.nbytes, ordered.strides[0]),
            range(scores.ctypes.data, scores.ctypes.data + scores.nbytes, scores.strides[0]),
            strict=True,
        ):
            call(self._fast, ctypes.c_void_p(row), ctypes.byref(count), ctypes.c_void_p(result))
        return scores


class TreeliteForest:
    """The booster's trees in Treelite's own predictor."""

    def __init__(self, forest: LightgbmForest) -> None:
        import treelite

        self._predict = treelite.gtil.predict
        self.model: Any = treelite.frontend.from_lightgbm(forest.booster)

    def score(self, matrix: Floats) -> Floats:
        """(n, outputs) scores of an (n, inputs) matrix."""
        ordered = np.ascontiguousarray(matrix, np.float64)
        found = self._predict(self.model, ordered, nthread=1, pred_margin=True)
        return np.reshape(found, (len(matrix), -1))
