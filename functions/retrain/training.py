"""From attempts to a trained model, and from a model to predictions, over the same features."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.settings import Settings
from functions.retrain.window import Window
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs, Objects
from leap_model.errors import TrainingError
from leap_model.features import Schema, raw_columns
from leap_model.features.raw import Raw
from leap_model.features.schema import fit_schema
from leap_model.history import History, Outcomes, cutoffs, family_hashes, history_as_of
from leap_model.limits import DAY_US
from leap_model.prediction import predict
from leap_model.targets import Target


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what it needs to read a job."""

    target: Target
    fitted: Fitted
    schema: Schema
    hardware_rows: Mapping[str, int]
    rows: int

    def predict(self, jobs: Jobs, history: History, catalogue: Catalogue) -> Floats:
        """(n,) the target of n jobs, in its own unit."""
        return predict(self.target, self.fitted.model, self.schema, jobs, history, catalogue)


def enough(usable: Attempts, window: Window, settings: Settings) -> Attempts:
    """The attempts, if they are enough to train on.

    Raises
    ------
    TrainingError
        They are too few, or on too few days.
    """
    days = len(np.unique(usable.completed_at // DAY_US))
    if len(usable) < settings.min_rows or days < settings.min_days:
        shown = window.to_json()
        raise TrainingError(
            f"{len(usable):,} attempts with a usable {settings.target.name} on {days:,} days from "
            f"{shown['from']} to {shown['to']}; training needs at least {settings.min_rows:,} on "
            f"{settings.min_days} days"
        )
    return usable


def training_set(
    attempts: Attempts,
    outcomes: Outcomes,
    catalogue: Catalogue,
    target: Target,
    *,
    without: Collection[str] = (),
) -> TrainingSet:
    """The features of attempts that all have a usable measurement, as each launch knew them.

    `without` names sources whose columns are left out, as `columns_without` has them.
    """
    history = history_at_launch(attempts.jobs, outcomes)
    raw = columns_without(without, attempts.jobs, history, catalogue)
    schema = fit_schema(raw, attempts.jobs)
    matrix = schema.encode(raw, len(attempts))
    return TrainingSet(matrix, np.log(attempts.measured), schema, target.scale)


def columns_without(
    sources: Collection[str], jobs: Jobs, history: History, catalogue: Catalogue
) -> Raw:
    """Every column but those of some sources: the part of a name before its first dot.

    Without `architecture` the ratios that need it are missing as well.
    """
    if "architecture" in sources:
        jobs = replace(jobs, architecture=Objects(len(jobs), {}))
    raw = raw_columns(jobs, history, catalogue)
    return {name: values for name, values in raw.items() if name.partition(".")[0] not in sources}


def train(
    attempts: Attempts, outcomes: Outcomes, catalogue: Catalogue, settings: Settings
) -> Trained:
    """Fit on attempts that all have a usable measurement."""
    rows = training_set(attempts, outcomes, catalogue, settings.target)
    fitted = settings.estimator.fit(rows, settings.seed, settings.processes)
    hardware = attempts.jobs.hardware_type
    counts = np.bincount(hardware.codes, minlength=len(hardware.values))
    by_type = {name: int(n) for name, n in sorted(zip(hardware.values, counts, strict=True)) if n}
    return Trained(settings.target, fitted, rows.schema, by_type, len(attempts))


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
    return history_as_of(outcomes, family_hashes(jobs.family), visible_before(jobs, latest))


def visible_before(jobs: Jobs, latest: int | None = None) -> Ints:
    """(n,) the moment that ends what each job's launch could know of."""
    before = cutoffs(jobs.launched_at)
    return before if latest is None else np.minimum(before, latest)
