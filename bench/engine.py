"""Tree engine: 20 candidates of a job, cascades of two sizes, against other predictors of them."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits

from bench.cascades import SIZES, Estimators, Size, estimators
from bench.peers.cascades import peers, same_trees
from bench.timing import alternating_milliseconds
from functions.retrain.learning.export import export_forest
from leap_model import engine, walk
from leap_model.columns import Floats, Matrix
from leap_model.model import Model
from leap_model.trees import Forest

COLUMNS = ("cascade", "predictor", "median ms", "p99 ms", "scikit-learn ÷ it", "it ÷ leap")
JOBS: Final = int(os.environ.get("LEAP_BENCH_JOBS", "500"))
CANDIDATES: Final = 20
_TOLERANCE: Final = 1e-9
"""Of a prediction by the same trees, summed in another order."""
OF_A_CANDIDATE: Final = ("hardware.", "ratio.", "allocation_text.")
"""Columns in which the candidates of a job differ."""


def run() -> list[tuple[object, ...]]:
    """Processor time of one thread, over `LEAP_BENCH_JOBS` different jobs (500)."""
    with threadpool_limits(1):
        return [row for size in SIZES for row in _rows(size)]


def _rows(size: Size) -> Iterator[tuple[object, ...]]:
    fitted = estimators(size)
    forests = [export_forest(estimator) for estimator in (fitted.picker, *fitted.experts)]
    requests = [_request(fitted, job) for job in range(JOBS)]
    numpy = _model([_OfNumpy(forest) for forest in forests])
    engines: dict[str, Callable[[Floats], Floats]] = {
        "scikit-learn": fitted.predict,
        "leap, numpy": numpy.predict,
    }
    if engine.name() == "native":
        engines["leap, kernel"] = _model(forests).predict
    ours = list(engines)[-1]
    others = dict(peers(size, fitted))
    _check(engines, others, requests[::50])
    times = alternating_milliseconds(
        {
            name: [partial(call, request) for request in requests]
            for name, call in (engines | others).items()
        }
    )
    for name, (median, tail) in times.items():
        faster, slower = times["scikit-learn"][0] / median, median / times[ours][0]
        yield size.name, name, f"{median:.3f}", f"{tail:.3f}", f"{faster:.1f}", f"{slower:.2f}"


def _check(
    engines: dict[str, Callable[[Floats], Floats]],
    others: dict[str, Callable[[Floats], Floats]],
    requests: list[Floats],
) -> None:
    for request in requests:
        expected = engines["scikit-learn"](request)
        if any(call(request).tobytes() != expected.tobytes() for call in engines.values()):
            raise ValueError("the engines differ")
        for name, call in others.items():
            found = call(request)
            if not np.all(np.isfinite(found)):
                raise ValueError(f"{name} does not predict")
            if same_trees(name) and not np.allclose(found, expected, _TOLERANCE, _TOLERANCE):
                raise ValueError(f"{name} predicts something else by the same trees")


def _request(fitted: Estimators, job: int) -> Floats:
    """(20, columns) one attempt's job beside the hardware of others of as many types."""
    draw = np.random.default_rng(job)
    names = fitted.schema.names
    of_type = fitted.matrix[:, names.index("hardware.hardware_type")]
    order = draw.permutation(len(of_type))
    _, first = np.unique(of_type[order], return_index=True)
    others = order[draw.permutation(first)[:CANDIDATES]]
    rows = np.repeat(fitted.matrix[[draw.integers(len(of_type))]], len(others), axis=0)
    theirs = [at for at, name in enumerate(names) if name.startswith(OF_A_CANDIDATE)]
    rows[:, theirs] = fitted.matrix[np.ix_(others, theirs)]
    return np.asfortranarray(rows)  # as a schema makes them


def _model(forests: list[Forest]) -> Model:
    picker, *experts = forests
    return Model.of_cascade(
        picker, {f"expert-{number:02}": expert for number, expert in enumerate(experts)}
    )


class _OfNumpy(Forest):
    """A forest that leaves the kernel out."""

    __slots__ = ()

    def __init__(self, forest: Forest) -> None:
        super().__init__(forest.counts, **forest.parts(), prepared=None)

    def score(self, matrix: Matrix) -> Floats:
        return walk.score(self, np.ascontiguousarray(matrix, np.float64))
