"""Tree engine: 20 candidates of a job, cascades of two sizes, against scikit-learn's predict."""

from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from bench.cascades import SIZES, Estimators, Size, estimators
from bench.timing import processor_milliseconds
from functions.retrain.learning.export import export_forest
from leap_model import engine, walk
from leap_model.columns import Floats
from leap_model.model import Model
from leap_model.trees import Forest

COLUMNS = ("cascade", "engine", "median ms", "p99 ms", "times faster", "forests MB")
JOBS = 500
CANDIDATES = 20
OF_A_CANDIDATE = ("hardware.", "ratio.", "allocation_text.")
"""Columns in which the candidates of a job differ."""


def run() -> list[tuple[object, ...]]:
    """Processor time of one thread in this process, over 500 different jobs."""
    with threadpool_limits(1):
        return [row for size in SIZES for row in _rows(size)]


def _rows(size: Size) -> list[tuple[object, ...]]:
    fitted = estimators(size)
    forests = [export_forest(estimator) for estimator in (fitted.picker, *fitted.experts)]
    requests = [_request(fitted, job) for job in range(JOBS)]
    ours = _model(forests)
    numpy = _model([_OfNumpy(forest) for forest in forests])
    engines: dict[str, Callable[[Floats], Floats]] = {
        "scikit-learn predict": fitted.predict,
        "leap, numpy": numpy.predict,
    }
    if engine.name() == "native":
        engines["leap, kernel"] = ours.predict
    for request in requests[::50]:
        theirs = fitted.predict(request)
        if any(call(request).tobytes() != theirs.tobytes() for call in engines.values()):
            raise ValueError("the engines differ")
    megabytes = sum(len(forest.to_bytes()) for forest in forests) / 1e6
    table: list[tuple[object, ...]] = []
    slowest = 0.0
    for name, call in engines.items():
        median, tail = processor_milliseconds([partial(call, request) for request in requests])
        slowest = slowest or median
        figures = (f"{median:.3f}", f"{tail:.3f}", f"{slowest / median:.1f}", f"{megabytes:.1f}")
        table.append((size.name, name, *figures))
    return table


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

    def score(self, matrix: Floats) -> Floats:
        return walk.score(self, np.ascontiguousarray(matrix))
