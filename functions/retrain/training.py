"""From attempts to a trained model, and from a model to predictions, over the same features."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.learning.estimator import Fitted, Source, TrainingSet, scale_of
from functions.retrain.learning.memory import Memory, remembered
from functions.retrain.learning.threads import one_thread
from functions.retrain.learning.workers import FEWEST_ROWS
from functions.retrain.settings import Settings
from functions.retrain.sources import columns_without
from functions.retrain.window import Window
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.errors import TrainingError
from leap_model.features import Schema, raw_columns
from leap_model.features.schema import fit_schema
from leap_model.history import (
    History,
    Outcomes,
    cutoffs,
    family_hashes,
    history_as_of,
    no_history,
)
from leap_model.limits import DAY_US
from leap_model.model import Model
from leap_model.prediction import predict
from leap_model.references import Known, References
from leap_model.targets import Target


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what it needs to read a job."""

    target: Target
    fitted: Fitted
    schema: Schema
    hardware_rows: Mapping[str, int]
    rows: int

    def predict(self, jobs: Jobs, history: History, catalogue: Catalogue, before: Ints) -> Floats:
        """(n,) the target of n jobs, in its own unit, as (n,) moments before know them."""
        return self.predict_known(jobs, history, catalogue, self.known(jobs, catalogue, before))

    def predict_known(
        self, jobs: Jobs, history: History, catalogue: Catalogue, known: Known | None
    ) -> Floats:
        """The same with what resembles the jobs given."""
        parts = (self.target, self.fitted.model, self.schema)
        return predict(*parts, jobs, history, catalogue, known=known)

    def known(self, jobs: Jobs, catalogue: Catalogue, before: Ints) -> Known | None:
        """What resembles n jobs among what completed before (n,) moments, where the model asks."""
        memory = self.fitted.memory
        return None if memory is None else memory.known(jobs, before, catalogue)

    def remembering(self, later: Attempts, catalogue: Catalogue) -> "Trained":
        """The model with the memory of measured attempts after its training rows, too."""
        if self.fitted.memory is None:
            return self
        memory = memory_with(self.fitted.memory, self.fitted.model, self.schema, later, catalogue)
        return replace(self, fitted=replace(self.fitted, memory=memory))

    def references(self, later: Attempts, catalogue: Catalogue, before: int) -> References | None:
        """The references that serve from a moment on: training rows, and attempts after them."""
        memory = self.remembering(later, catalogue).fitted.memory
        return None if memory is None else memory.as_of(before)


def memory_with(
    memory: Memory, model: Model, schema: Schema, later: Attempts, catalogue: Catalogue
) -> Memory:
    """A model's memory of its training rows, and of measured attempts that it was not fitted on."""
    raw = raw_columns(later.jobs, no_history(len(later)), catalogue)
    matrix = schema.encode(raw, len(later))
    values = np.log(later.measured)
    level = values - scale_of(matrix, schema, memory.scale)
    with one_thread():
        rest = values - model.predict(matrix)
    parts = (later.jobs, later.completed_at, rest, level, catalogue, memory.recall, memory.scale)
    return memory.and_of(remembered(*parts))


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
    source = Source(attempts, catalogue, frozenset(without))
    return TrainingSet(matrix, np.log(attempts.measured), schema, target.scale, source)


def train(
    attempts: Attempts, outcomes: Outcomes, catalogue: Catalogue, settings: Settings
) -> Trained:
    """Fit on attempts that all have a usable measurement."""
    rows = training_set(attempts, outcomes, catalogue, settings.target)
    if settings.scratch is not None and len(rows) >= FEWEST_ROWS:
        rows = replace(rows, keeping=settings.scratch.keeping(rows))
    fitted = settings.estimator.fit(rows, settings.seed, settings.processes)
    schema = fitted.schema or rows.schema
    return Trained(settings.target, fitted, schema, rows_by_type(attempts), len(attempts))


def rows_by_type(attempts: Attempts) -> dict[str, int]:
    """How many attempts ran on each hardware type that any ran on, by name."""
    hardware = attempts.jobs.hardware_type
    counts = np.bincount(hardware.codes, minlength=len(hardware.values))
    return {name: int(n) for name, n in sorted(zip(hardware.values, counts, strict=True)) if n}


def ranked_types(rows: Mapping[str, int], settings: Settings) -> frozenset[str]:
    """The types with enough training rows to be ranked without being extrapolated to."""
    return frozenset(name for name, count in rows.items() if count >= settings.min_hardware_rows)


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
