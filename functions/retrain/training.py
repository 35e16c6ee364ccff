"""From attempts to a trained model, and from a model to predictions, over the same features."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.estimators import Estimator
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.features import Schema, raw_columns
from leap_model.features.schema import fit_schema
from leap_model.history import History, Outcomes, cutoffs, family_hashes, history_as_of
from leap_model.model import Model


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what it needs to read a job."""

    model: Model
    schema: Schema
    hardware_rows: Mapping[str, int]
    rows: int

    def predict(self, jobs: Jobs, history: History, catalogue: Catalogue) -> Floats:
        """(n,) predicted samples per second."""
        matrix = self.schema.encode(raw_columns(jobs, history, catalogue), len(jobs))
        return np.exp(self.model.predict(matrix))


def train(
    attempts: Attempts,
    outcomes: Outcomes,
    catalogue: Catalogue,
    estimator: Estimator,
    seed: int,
    *,
    with_history: bool = True,
) -> Trained:
    """Fit on attempts that all have a usable throughput."""
    history = history_at_launch(attempts.jobs, outcomes)
    raw = raw_columns(attempts.jobs, history, catalogue)
    if not with_history:
        raw = {name: values for name, values in raw.items() if not name.startswith("history.")}
    schema = fit_schema(raw, attempts.jobs)
    matrix = schema.encode(raw, len(attempts))
    model = estimator.fit(matrix, np.log(attempts.throughput), schema, seed)
    hardware = attempts.jobs.hardware_type
    counts = np.bincount(hardware.codes, minlength=len(hardware.values))
    rows = {name: int(n) for name, n in sorted(zip(hardware.values, counts, strict=True)) if n}
    return Trained(model, schema, rows, len(attempts))


def history_at_launch(jobs: Jobs, outcomes: Outcomes, latest: int | None = None) -> History:
    """What the snapshot in service at each launch held.

    Parameters
    ----------
    jobs : Jobs
        n jobs.
    outcomes : Outcomes
        The measurements that exist.
    latest : int, optional
        No snapshot is newer than this moment, in microseconds.
    """
    before: Ints = cutoffs(jobs.launched_at)
    if latest is not None:
        before = np.minimum(before, latest)
    return history_as_of(outcomes, family_hashes(jobs.family), before)
