"""A network of a size for tests, and the attempts that it learns from."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.training import training_set
from leap_model.columns import Labels
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from tests.unit.retrain.nights import AS_OF, TINY, outcomes, rows_between

NET = ResidualNetwork(
    members=2,
    width=12,
    blocks=1,
    vector=3,
    epochs=6.0,
    least_steps=60,
    most_steps=120,
    batch=64,
    strangers=0,
)
SETTINGS = replace(TINY, estimator=NET, processes=1)


def training_of(store: LocalStore, without: Sequence[str] = ()) -> TrainingSet:
    """All attempts of a store as a night trains on them."""
    attempts = rows_between(store, date(2026, 1, 1), AS_OF).usable()
    target = TARGETS["throughput"]
    known = outcomes(store, AS_OF)
    return training_set(attempts, known, stored_catalogue(store), target, without=without)


def with_families(training: TrainingSet, names: Sequence[str]) -> TrainingSet:
    """The same attempts, of other families."""
    assert training.source is not None
    attempts = training.source.attempts
    jobs = replace(attempts.jobs, family=Labels.of(names))
    source = replace(training.source, attempts=replace(attempts, jobs=jobs))
    return replace(training, source=source)


def taken(training: TrainingSet, rows: Any) -> TrainingSet:
    """Some of the attempts."""
    assert training.source is not None
    source = replace(training.source, attempts=training.source.attempts.take(np.asarray(rows)))
    return replace(
        training, matrix=training.matrix[rows], values=training.values[rows], source=source
    )
