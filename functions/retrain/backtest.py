"""Nightly retrains replayed over the past, each scored on the days that followed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.comparators import COMPARATORS, PARTIAL, Night
from functions.retrain.dataset import Attempts, Records, read_records
from functions.retrain.evaluation import evaluate, figures
from functions.retrain.settings import Settings
from functions.retrain.training import enough, training_set, visible_before
from functions.retrain.window import Window, evaluation_day
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats
from leap_model.history import family_hashes, history_as_of
from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import start_of

MODEL = "model"
"""The model of the settings, among the names of comparators."""
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
    end = dates[-1] + timedelta(days=plan.horizon_days)
    records = read_records(store, days, start, end, catalogue, settings.target)
    nights = []
    for as_of in dates:
        if watch is not None:
            watch(as_of.isoformat())
        window = Window.before(as_of, settings.window_days, days)
        nights.append(_night(records, window, catalogue, settings, plan))
    every = {name: [night.figures[name] for night in nights] for name in (MODEL, *plan.compare)}
    own = _summary(every.pop(MODEL))
    return {
        "target": settings.target.name,
        "estimator": settings.estimator.name,
        **own,
        "comparators": {name: _summary(figures) for name, figures in every.items()},
        "covered": _covered(nights, plan.compare),
    }


@dataclass(frozen=True, slots=True)
class _Judged:
    """One night: every method's figures on what it answered, and on what each partial method
    answered."""

    figures: Mapping[str, dict[str, Any]]
    covered: Mapping[str, dict[str, dict[str, Any]]]


def _night(
    records: Records, window: Window, catalogue: Catalogue, settings: Settings, plan: Plan
) -> _Judged:
    as_of = window.end
    end = as_of + timedelta(days=plan.horizon_days)
    training = enough(records.attempts_between(window.start, as_of).usable(), window, settings)
    known = records.outcomes_before(start_of(as_of))
    rows = training_set(training, known, catalogue, settings.target)

    later = records.unseen_between(as_of, end).usable()
    visible = records.outcomes_before(start_of(end)) if plan.online_history else known
    before = visible_before(later.jobs, None if plan.online_history else start_of(as_of))
    families = family_hashes(later.jobs.family)
    history = history_as_of(visible, families, before)
    night = Night(training, rows, visible, catalogue, settings, later, families, before, history)
    own = night.predicted_by(settings.estimator, rows, history)
    predicted = {MODEL: own} | {name: COMPARATORS[name](night, own) for name in plan.compare}
    header = {
        "as_of": as_of.isoformat(),
        "rows": len(training),
        "from": as_of.isoformat(),
        "to": (end - timedelta(days=1)).isoformat(),
    }
    cold = history.runs == 0
    return _Judged(
        {name: header | _evaluated(later, values, cold) for name, values in predicted.items()},
        {
            partial: {
                name: {"as_of": header["as_of"], **_on(later, values, ~np.isnan(answers))}
                for name, values in predicted.items()
            }
            for partial, answers in predicted.items()
            if partial in PARTIAL
        },
    )


def _evaluated(later: Attempts, predicted: Floats, cold: NDArray[np.bool_]) -> dict[str, Any]:
    """The figures on the attempts that the method has an answer for, and their share."""
    answered = np.flatnonzero(~np.isnan(predicted))
    return {
        **evaluate(later.take(answered), predicted[answered], cold[answered]),
        "coverage": len(answered) / len(later) if len(later) else None,
    }


def _on(later: Attempts, predicted: Floats, chosen: NDArray[np.bool_]) -> dict[str, Any]:
    both = chosen & ~np.isnan(predicted)
    return {"attempts": int(both.sum()), **figures(later.measured[both], predicted[both])}


def _covered(nights: Sequence[_Judged], compare: Sequence[str]) -> dict[str, Any]:
    """Every method on just the attempts that each partial method has an answer for."""
    return {
        partial: {
            name: _summary([night.covered[partial][name] for night in nights])
            for name in (MODEL, *compare)
        }
        for partial in compare
        if partial in PARTIAL
    }


def _summary(nights: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"nights": list(nights), "median": {name: _median(nights, name) for name in SUMMARISED}}


def _median(nights: Sequence[dict[str, Any]], name: str) -> float | None:
    known = [night[name] for night in nights if night[name] is not None]
    return float(np.median(known)) if known else None
