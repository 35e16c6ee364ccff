"""Published constants as rows grow: a tree of an expert, its scoring, the classifier."""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

import numpy as np

from bench.fleets import START, simulated
from functions.retrain.dataset import read_records
from functions.retrain.learning.bins import equal_frequency
from functions.retrain.learning.boosting import Boosting, classifier, regressor
from functions.retrain.training import training_set
from leap_model.reading import partition_days
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from leap_model.times import start_of

T = TypeVar("T")

COLUMNS = ("rows of the fit", "ms a tree", "µs a row and tree scored", "classifier, s an iteration")
DAYS = 21
EXPERT = {1_923: 100, 7_955: 100, 57_692: 60}
"""Rows of a bin of 25,000, of 103,000 and of 750,000 rows, and trees enough to time."""


def run() -> list[tuple[object, ...]]:
    """Processor time of fits on one thread; rows of a bin lie close together in the target."""
    target = TARGETS["throughput"]
    with simulated(DAYS, 5_000) as (_, store):
        end = START + timedelta(days=DAYS)
        catalogue = stored_catalogue(store)
        records = read_records(store, partition_days(store), START, end, catalogue, target)
        attempts = records.attempts_between(START, end).usable()
        rows = training_set(attempts, records.outcomes_before(start_of(end)), catalogue, target)
    order, categorical = np.argsort(rows.values), rows.schema.is_categorical()
    table: list[tuple[object, ...]] = []
    for count, trees in EXPERT.items():
        chosen = order[30_000 : 30_000 + count]
        size = Boosting(trees, 255, 0.03, 20)
        matrix, values = np.asfortranarray(rows.matrix[chosen]), rows.values[chosen]
        spent, forest = _timed(partial(regressor, matrix, values, categorical, size, 0, 1))
        scored, _ = _timed(partial(forest.score, rows.matrix[:5_000]))
        per_row = scored / 5_000 / trees * 1e6
        table.append((f"{count:,}", f"{spent / trees * 1e3:.1f}", f"{per_row:.2f}", ""))
    bins = equal_frequency(rows.values, 13)
    size = Boosting(6, 255, 0.1, 20)
    spent, _ = _timed(partial(classifier, rows.matrix, bins, categorical, size, 0, 1))
    return [*table, (f"{len(rows):,}", "", "", f"{spent / 6:.2f}")]


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    result = call()
    return time.process_time() - started, result
