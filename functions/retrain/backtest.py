"""Nightly retrains replayed over the past, each scored on the days that followed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from functions.retrain.comparators import COMPARATORS, Night
from functions.retrain.dataset import Raw, attempts_between, outcomes_before, read_raw
from functions.retrain.evaluation import evaluate
from functions.retrain.settings import Settings
from functions.retrain.training import enough, train, visible_before
from functions.retrain.window import Window, evaluation_day
from leap_model.catalogue import Catalogue
from leap_model.history import family_hashes, history_as_of
from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import start_of

SUMMARISED = ("w5", "w10", "w15", "w20", "mdape", "ratio")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which nights, how far each looks ahead, and what it is compared with.

    `online_history` lets a job see what completed within the horizon before its launch day.
    """

    nights: int
    first: date | None = None
    horizon_days: int = 1
    compare: Sequence[str] = ()
    online_history: bool = False


def backtest(
    store: Store, settings: Settings, plan: Plan, watch: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """The figures of contract section 6 for each night, and their medians.

    Raises
    ------
    TrainingError, StoreError, CatalogueError
        A night cannot be trained.
    """
    catalogue = stored_catalogue(store)
    days = partition_days(store)
    first = plan.first
    if first is None:
        first = evaluation_day(date.max, days) - timedelta(days=plan.nights - 1)
    dates = [first + timedelta(days=night) for night in range(plan.nights)]
    start = Window.before(first, settings.window_days, ()).start
    raw = read_raw(store, days, start, dates[-1] + timedelta(days=plan.horizon_days))
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in ("model", *plan.compare)}
    for as_of in dates:
        if watch is not None:
            watch(as_of.isoformat())
        window = Window.before(as_of, settings.window_days, days)
        for name, evaluation in _night(raw, window, catalogue, settings, plan).items():
            results[name].append(evaluation)
    own = results.pop("model")
    return {
        "estimator": settings.estimator.name,
        "nights": own,
        "median": _median(own),
        "comparators": {
            name: {"nights": nights, "median": _median(nights)} for name, nights in results.items()
        },
    }


def _night(
    raw: Raw, window: Window, catalogue: Catalogue, settings: Settings, plan: Plan
) -> dict[str, dict[str, Any]]:
    """One night's evaluation of the model and of each comparator."""
    as_of = window.end
    end = as_of + timedelta(days=plan.horizon_days)
    training = enough(
        attempts_between(raw, window.start, as_of, catalogue).usable(), window, settings
    )
    known = outcomes_before(raw, start_of(as_of))
    trained = train(training, known, catalogue, settings.estimator, settings.seed)

    later = attempts_between(raw, as_of, end, catalogue).usable()
    visible = outcomes_before(raw, start_of(end)) if plan.online_history else known
    before = visible_before(later.jobs, None if plan.online_history else start_of(as_of))
    families = family_hashes(later.jobs.family)
    history = history_as_of(visible, families, before)
    predicted = trained.predict(later.jobs, history, catalogue)
    night = Night(
        training, visible, catalogue, settings, later, families, before, history, predicted
    )
    header = {
        "as_of": as_of.isoformat(),
        "rows": trained.rows,
        "from": as_of.isoformat(),
        "to": (end - timedelta(days=1)).isoformat(),
    }
    every = {"model": predicted} | {name: COMPARATORS[name](night) for name in plan.compare}
    cold = history.runs == 0
    return {name: {**header, **evaluate(later, values, cold)} for name, values in every.items()}


def _median(nights: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    def median(name: str) -> float | None:
        known = [night[name] for night in nights if night[name] is not None]
        return float(np.median(known)) if known else None

    return {name: median(name) for name in SUMMARISED}
