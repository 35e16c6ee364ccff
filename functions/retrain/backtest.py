"""Nightly retrains replayed over the past, each scored on the days that followed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.ceiling import Noise
from functions.retrain.comparators import COMPARATORS, PARTIAL
from functions.retrain.coverage import coverage_over
from functions.retrain.dataset import Attempts
from functions.retrain.differences import paired
from functions.retrain.distributions import by_label, calibration, density
from functions.retrain.evaluation import evaluate, figures
from functions.retrain.nights import Past, read_past
from functions.retrain.settings import Settings
from leap_model.columns import Floats, Labels
from leap_model.store import Store

MODEL = "model"
"""The model of the settings, among the names of comparators."""
SUMMARISED = ("w5", "w10", "w15", "w20", "mdape", "ratio")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which nights, how far each looks ahead, and what it is compared with.

    `online_history` lets a job see what completed within the horizon before its launch.
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
    past = read_past(store, settings, plan.nights, plan.first, plan.horizon_days)
    nights = []
    for as_of in past.dates:
        if watch is not None:
            watch(as_of.isoformat())
        nights.append(_night(past, as_of, settings, plan))
    every = {name: [night.figures[name] for night in nights] for name in (MODEL, *plan.compare)}
    own = _summary(every.pop(MODEL))
    return {
        "target": settings.target.name,
        "estimator": settings.estimator.name,
        **own,
        "comparators": {name: _summary(figures) for name, figures in every.items()},
        "covered": _covered(nights, plan.compare),
        "differences": {
            name: paired([n.differences[name] for n in nights if name in n.differences])
            for name in plan.compare
        },
        "intervals": coverage_over([night.intervals for night in nights]),
        "described": _described(nights),
    }


@dataclass(frozen=True, slots=True)
class _Judged:
    """One night: every method's figures on what it answered, and on what each partial method
    answered. `differences` has how much more w20 a method has than the model on the attempts that
    it answers, where there are any."""

    figures: Mapping[str, dict[str, Any]]
    covered: Mapping[str, dict[str, dict[str, Any]]]
    differences: Mapping[str, float]
    jobs: Attempts
    predicted: Floats
    """By the model."""
    intervals: dict[str, Any] | None
    """How many attempts lay within the model's."""


def _night(past: Past, as_of: date, settings: Settings, plan: Plan) -> _Judged:
    night = past.night(as_of, settings, online_history=plan.online_history)
    judged = night.judged_by(settings.estimator, night.rows)
    own = judged.predicted
    predicted = {MODEL: own} | {name: COMPARATORS[name](night, own) for name in plan.compare}
    later = night.jobs
    end = as_of + timedelta(days=plan.horizon_days)
    header = {
        "as_of": as_of.isoformat(),
        "rows": len(night.training),
        "from": as_of.isoformat(),
        "to": (end - timedelta(days=1)).isoformat(),
    }
    cold = night.history.runs == 0
    noise = night.noise()
    return _Judged(
        {
            name: header | _evaluated(later, values, cold, noise)
            for name, values in predicted.items()
        },
        {
            partial: {
                name: {"as_of": header["as_of"], **_on(later, values, ~np.isnan(answers))}
                for name, values in predicted.items()
            }
            for partial, answers in predicted.items()
            if partial in PARTIAL
        },
        {
            name: _more(later, predicted[name], own)
            for name in plan.compare
            if not np.isnan(predicted[name]).all()
        },
        later,
        own,
        judged.coverage(later.measured),
    )


def _described(nights: Sequence[_Judged]) -> dict[str, Any]:
    """How what was measured and what the model predicted are spread over all nights."""
    measured = np.concatenate([night.jobs.measured for night in nights])
    predicted = np.concatenate([night.predicted for night in nights])
    hardware = Labels.of(
        night.jobs.jobs.hardware_type.values[code]
        for night in nights
        for code in night.jobs.jobs.hardware_type.codes
    )
    return {
        "predicted_against_measured": density(measured, predicted),
        "calibration": calibration(measured, predicted),
        "measured_by_hardware": by_label(hardware, measured),
    }


def _more(later: Attempts, predicted: Floats, own: Floats) -> float:
    """How much greater the share within ±20 % is than the model's, on what a method answers."""
    answered = ~np.isnan(predicted)
    measured = later.measured[answered]
    theirs, ours = (
        float(np.mean(np.abs(values[answered] / measured - 1) <= 0.20))
        for values in (predicted, own)
    )
    return theirs - ours


def _evaluated(
    later: Attempts, predicted: Floats, cold: NDArray[np.bool_], noise: Noise | None
) -> dict[str, Any]:
    """The figures on the attempts that the method has an answer for, and their share."""
    answered = np.flatnonzero(~np.isnan(predicted))
    return {
        **evaluate(later.take(answered), predicted[answered], cold[answered], noise),
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
