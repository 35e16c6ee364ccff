"""One night of the past as it was: what a method may train on, and the jobs that it is asked of."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from functions.retrain.ceiling import Noise, noise_of
from functions.retrain.dataset import Attempts, Records, read_records
from functions.retrain.judged import Judged
from functions.retrain.learning.estimator import Estimator, TrainingSet
from functions.retrain.settings import Settings
from functions.retrain.sources import columns_without
from functions.retrain.training import (
    enough,
    memory_with,
    ranked_types,
    rows_by_type,
    training_set,
    visible_before,
)
from functions.retrain.window import Window, evaluation_day, remembered
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Matrix
from leap_model.history import Hashes, History, Outcomes, family_hashes, history_as_of
from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import start_of


@dataclass(frozen=True, slots=True)
class Night:
    """What a method may look at: the night's training rows and outcomes, and the jobs.

    `known` is what had completed before the night. With online history `outcomes` reach past it;
    `before` says how far for each job.
    """

    training: Attempts
    rows: TrainingSet
    """The same attempts as features."""
    known: Outcomes
    outcomes: Outcomes
    catalogue: Catalogue
    settings: Settings
    jobs: Attempts
    families: Hashes
    before: Ints
    """(n,) each job sees only attempts that completed before this moment."""
    history: History
    later: Attempts | None = None
    """With online history: what completes within the horizon, measured, for each job to see as far
    as it may."""

    def asked_of(self, jobs: Attempts, rows: Ints) -> "Night":
        """The same night asked of other jobs, the i-th a variant of this night's job `rows[i]`:
        of its family, launched when it was."""
        return replace(
            self,
            jobs=jobs,
            families=self.families[rows],
            before=self.before[rows],
            history=self.history.take(rows),
        )

    def noise(self) -> Noise | None:
        """What repeats among the training rows say of the best w20 there can be."""
        return noise_of(self.training)

    def predicted_by(
        self, estimator: Estimator, rows: TrainingSet, without: Collection[str] = ()
    ) -> Floats:
        """(n,) what an estimator, fitted on the training rows, says of the jobs."""
        return self.judged_by(estimator, rows, without).predicted

    def judged_by(
        self, estimator: Estimator, rows: TrainingSet, without: Collection[str] = ()
    ) -> Judged:
        """The same with what was known of each job, and with intervals where the model has any."""
        fitted = estimator.fit(rows, self.settings.seed, self.settings.processes)
        schema = fitted.schema or rows.schema
        raw = columns_without(without, self.jobs.jobs, self.history, self.catalogue)
        known = None
        if fitted.memory is not None:
            memory = fitted.memory
            if self.later is not None:
                parts = (memory, fitted.model, schema, self.later, self.catalogue)
                memory = memory_with(*parts)
            known = memory.known(self.jobs.jobs, self.before, self.catalogue)
            raw.update(known.columns())
        matrix = schema.encode(raw, len(self.jobs))
        predicted = self.settings.target.of_log(fitted.model.predict(matrix))
        ranked = ranked_types(rows_by_type(self.training), self.settings)
        told = (self.jobs, self.history, predicted, self.before)
        return Judged(*told, ranked, known, fitted.intervals)

    def rows_without(self, sources: Collection[str]) -> TrainingSet:
        """The training rows without the columns of some sources."""
        target = self.settings.target
        return training_set(self.training, self.known, self.catalogue, target, without=sources)

    def encoded(self, rows: TrainingSet, without: Collection[str] = ()) -> Matrix:
        """(n, columns) the jobs as features, in the columns of a training set."""
        raw = columns_without(without, self.jobs.jobs, self.history, self.catalogue)
        return rows.schema.encode(raw, len(self.jobs))


@dataclass(frozen=True, slots=True)
class Past:
    """One reading of a store, from which any of its nights can be taken."""

    records: Records
    days: Mapping[date, Sequence[str]]
    catalogue: Catalogue
    dates: tuple[date, ...]
    """The nights, in order."""
    horizon_days: int

    def night(self, as_of: date, settings: Settings, *, online_history: bool = False) -> Night:
        """The night of a date: trained on the days before it, asked of those from it on.

        Raises
        ------
        TrainingError
            It has too few attempts to train on.
        """
        window = Window.before(as_of, settings.window_days, self.days)
        training = self.records.attempts_between(window.start, as_of).usable()
        known = self.records.outcomes_before(start_of(as_of))
        rows = training_set(
            enough(training, window, settings), known, self.catalogue, settings.target
        )
        end = as_of + timedelta(days=self.horizon_days)
        later = self.records.unseen_between(as_of, end).usable()
        visible = self.records.outcomes_before(start_of(end)) if online_history else known
        moment = start_of(as_of)
        before = later.jobs.launched_at if online_history else visible_before(later.jobs, moment)
        families = family_hashes(later.jobs.family)
        history = history_as_of(visible, families, before)
        return Night(
            *(training, rows, known, visible, self.catalogue, settings, later, families, before),
            history,
            later if online_history else None,
        )

    def ids(self, as_of: date) -> tuple[str, ...]:
        """The attempt ids of the jobs of a night, in their order; for whoever scores them."""
        end = as_of + timedelta(days=self.horizon_days)
        measured = self.records.unseen_between(as_of, end).measured
        ids = self.records.unseen_ids_between(as_of, end)
        return tuple(ids[row] for row in np.flatnonzero(~np.isnan(measured)))


def read_past(
    store: Store, settings: Settings, nights: int, first: date | None, horizon_days: int
) -> Past:
    """What `nights` nights from `first` on (by default the last ones of the store) need.

    Raises
    ------
    TrainingError, StoreError, CatalogueError
        The store has no attempts, or cannot be read.
    """
    catalogue = stored_catalogue(store)
    days = partition_days(store)
    if first is None:
        first = evaluation_day(date.max, days) - timedelta(days=nights - 1)
    dates = tuple(first + timedelta(days=night) for night in range(nights))
    start = Window.before(first, settings.window_days, ()).start
    end = dates[-1] + timedelta(days=horizon_days)
    read = remembered(days, start, first, settings.history_days)
    records = read_records(store, read, start, end, catalogue, settings.target)
    return Past(records, days, catalogue, dates, horizon_days)
