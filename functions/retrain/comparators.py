"""What a model is compared with, on the same nights and the same attempts."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.ladder import LADDER, Rung, climbed
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.nights import Night
from leap_model.columns import Floats, Ints
from leap_model.history import Hashes, Outcomes

Comparator: TypeAlias = Callable[[Night, Floats], Floats]
"""From a night and the model's own predictions to (n,) predictions, NaN for no answer."""


def without_history(night: Night, model: Floats) -> Floats:
    """The same estimator on the same rows, without the history columns."""
    return climbed(night, Rung(night.settings.estimator, ("history",)))


def family_median(night: Night, model: Floats) -> Floats:
    """The median of what the family completed before each job's moment."""
    return family_medians(night.outcomes, night.families, night.before)


def family_medians(outcomes: Outcomes, families: Hashes, before: Ints) -> Floats:
    """(n,) median target of what each family completed before each moment, NaN for nothing."""
    order = np.lexsort((outcomes.completed_at, outcomes.family))
    family, completed = outcomes.family[order], outcomes.completed_at[order]
    values = np.exp(outcomes.log_value[order])
    pairs = np.stack([families, before.astype(np.uint64)])
    asked, which = np.unique(pairs, axis=1, return_inverse=True)
    medians = np.full(asked.shape[1], np.nan)
    for at, (name, moment) in enumerate(asked.T):
        first, last = np.searchsorted(family, name, "left"), np.searchsorted(family, name, "right")
        seen = first + np.searchsorted(completed[first:last], moment.astype(np.int64), "left")
        if seen > first:
            medians[at] = np.median(values[first:seen])
    return medians[which.ravel()]


def family_median_else_model(night: Night, model: Floats) -> Floats:
    """The family's median where there is one, else the model."""
    median = family_median(night, model)
    return np.where(np.isnan(median), model, median)


def lookup_table(night: Night, model: Floats) -> Floats:
    """The median of the training attempts of the same model type, hardware type, hosts and batch
    size: the table that a careful team would keep by hand."""
    measured: dict[tuple[object, ...], list[float]] = {}
    for key, value in zip(_keys(night.training), night.training.measured, strict=True):
        measured.setdefault(key, []).append(value)
    table = {key: float(np.median(values)) for key, values in measured.items()}
    return np.array([table.get(key, np.nan) for key in _keys(night.jobs)], np.float64)


def _keys(attempts: Attempts) -> Iterable[tuple[object, ...]]:
    jobs = attempts.jobs
    models, types = jobs.model_type, jobs.hardware_type
    columns = (models.codes, types.codes, jobs.num_trainers, jobs.batch_size)
    for model, hardware, hosts, batch in zip(*(c.tolist() for c in columns), strict=True):
        yield models.values[model], types.values[hardware], hosts, batch


def _estimated(name: str) -> Comparator:
    def comparator(night: Night, model: Floats) -> Floats:
        if ESTIMATORS[name].settings() == night.settings.estimator.settings():
            return model
        return night.predicted_by(ESTIMATORS[name], night.rows)

    return comparator


def _rung(name: str) -> Comparator:
    return lambda night, model: climbed(night, LADDER[name])


COMPARATORS: Mapping[str, Comparator] = {
    **{name: _estimated(name) for name in ESTIMATORS},
    **{name: _rung(name) for name in LADDER},
    "without-history": without_history,
    "family-median": family_median,
    "family-median-else-model": family_median_else_model,
    "lookup-table": lookup_table,
}

PARTIAL = ("family-median", "lookup-table")
"""Those that have no answer for some jobs. The others are also scored on just the jobs that each
of these answers, which is how the publication compares itself with a lookup table."""
