"""What a model is compared with, on the same nights and the same attempts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.settings import Settings
from functions.retrain.training import train
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints
from leap_model.history import Hashes, History, Outcomes, no_history


@dataclass(frozen=True, slots=True)
class Night:
    """What a comparator may look at: the night's training rows and outcomes, and the jobs.

    With online history `outcomes` reach past the night; `before` says how far for each job.
    """

    training: Attempts
    outcomes: Outcomes
    catalogue: Catalogue
    settings: Settings
    jobs: Attempts
    families: Hashes
    before: Ints
    """(n,) each job sees only attempts that completed before this moment."""
    history: History
    predicted: Floats
    """(n,) what the model that is compared says."""


def without_history(night: Night) -> Floats:
    """The same estimator on the same rows, without the history columns."""
    trained = train(
        night.training,
        night.outcomes,
        night.catalogue,
        night.settings.estimator,
        night.settings.seed,
        with_history=False,
    )
    nothing = no_history(len(night.jobs))
    return trained.predict(night.jobs.jobs, nothing, night.catalogue)


def family_median_else_model(night: Night) -> Floats:
    """The median of the family's earlier attempts where there are any, else the model."""
    median = family_median(night.outcomes, night.families, night.before)
    return np.where(np.isnan(median), night.predicted, median)


def family_median(outcomes: Outcomes, families: Hashes, before: Ints) -> Floats:
    """(n,) median throughput of what each family completed before each moment, NaN for nothing."""
    order = np.lexsort((outcomes.completed_at, outcomes.family))
    family, completed = outcomes.family[order], outcomes.completed_at[order]
    values = np.exp(outcomes.log_throughput[order])
    pairs = np.stack([families, before.astype(np.uint64)])
    asked, which = np.unique(pairs, axis=1, return_inverse=True)
    medians = np.full(asked.shape[1], np.nan)
    for at, (name, moment) in enumerate(asked.T):
        first, last = np.searchsorted(family, name, "left"), np.searchsorted(family, name, "right")
        seen = first + np.searchsorted(completed[first:last], moment.astype(np.int64), "left")
        if seen > first:
            medians[at] = np.median(values[first:seen])
    return medians[which.ravel()]


Comparator: TypeAlias = Callable[[Night], Floats]

COMPARATORS: Mapping[str, Comparator] = {
    "without-history": without_history,
    "family-median-else-model": family_median_else_model,
}
