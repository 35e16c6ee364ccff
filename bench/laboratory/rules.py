"""Rules of thumb: what a type's data sheet says, with efficiencies fitted on the training rows.

The bounds are those of `leap_model.features.ratios` (the roofline model of Williams, Waterman,
Patterson, 2009): compute, memory traffic, and exchange of gradients. Efficiencies are the medians
of measured ÷ bound, so that one absurd row moves nothing.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from functions.retrain.nights import Night
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs, Labels
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import ratio_columns

_K = TypeVar("_K", bound=Hashable)
_STEPS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Of the search for three efficiencies, in logarithms."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the rules see of n jobs. Logarithms (n,), NaN where unknown.

    `compute`, `memory` and `exchange` bound samples per second; `peak` is the job's rate in
    operations per second; `type` and `model` are names.
    """

    compute: Floats
    memory: Floats
    exchange: Floats
    peak: Floats
    accelerators: Floats
    batch: Floats
    type: tuple[str, ...]
    model: tuple[str, ...]


def known_of(jobs: Jobs, catalogue: Catalogue) -> Known:
    """What the rules see of jobs on the types that they are asked of."""
    columns = ratio_columns(jobs, Hardware(jobs, catalogue))
    compute, memory, exchange = (
        np.log(columns[f"ratio.{name}"])
        for name in ("compute_bound", "memory_bound", "exchange_bound")
    )
    return Known(
        *(compute, memory, exchange, columns["ratio.log_peak"]),
        columns["ratio.log_accelerators"],
        np.log(columns["ratio.batch_per_accelerator"]),
        _texts(jobs.hardware_type),
        _texts(jobs.model_type),
    )


def _texts(labels: Labels) -> tuple[str, ...]:
    return tuple(labels.values[code] for code in labels.codes)


def peak(trained: Known, values: Floats, asked: Known) -> Floats:
    """Peak rate ÷ operations a sample, times one efficiency; no answer without operations."""
    return asked.compute + _median(values - trained.compute)


def peak_by_model(trained: Known, values: Floats, asked: Known) -> Floats:
    """Peak rate times a constant of the model type; as `peak` for a type never trained on."""
    known = _by_model(trained, values - trained.peak, asked) + asked.peak
    return np.where(np.isnan(known), peak(trained, values, asked), known)


def roofline(trained: Known, values: Floats, asked: Known) -> Floats:
    """The least of three bounds, each times an efficiency of its own; the three are those that
    make the mean |log error| of the training rows least, as a search by single steps finds it."""
    fitted = efficiencies(trained, values)
    return bound(asked, fitted)


def roofline_by_model(trained: Known, values: Floats, asked: Known) -> Floats:
    """The same times a constant of the model type, where that was trained on; as `peak_by_model`
    for a job of unknown operations."""
    fitted = efficiencies(trained, values)
    own = _by_model(trained, values - bound(trained, fitted), asked)
    said = bound(asked, fitted) + np.where(np.isnan(own), 0.0, own)
    return np.where(np.isnan(said), peak_by_model(trained, values, asked), said)


def scaling(trained: Known, values: Floats, asked: Known) -> Floats:
    """The rate per accelerator of the most similar job of the model type, times accelerators.

    Most similar in log accelerators and log batch per accelerator, on the same hardware type where
    the model type ran there, else on any, then scaled by peak rate; the median of equals. No
    answer for a model type never trained on.
    """
    rate = values - trained.accelerators
    said = np.full(len(asked.peak), np.nan)
    rows_of = _rows_by(zip(trained.model, trained.type, strict=True))
    anywhere = _rows_by(trained.model)
    for at, (model, used) in enumerate(zip(asked.model, asked.type, strict=True)):
        rows = rows_of.get((model, used))
        own = rows is not None
        rows = anywhere.get(model) if rows is None else rows
        if rows is None:
            continue
        away = np.abs(trained.accelerators[rows] - asked.accelerators[at]) + np.abs(
            trained.batch[rows] - asked.batch[at]
        )
        if not own:  # a type of unknown peak cannot be scaled from
            away = np.where(np.isnan(trained.peak[rows]), np.nan, away)
        if np.isnan(away).all():
            continue
        near = rows[away <= np.nanmin(away) + 1e-9]
        scaled = rate[near]
        if not own:
            per_accelerator = trained.peak[near] - trained.accelerators[near]
            scaled = scaled - per_accelerator + asked.peak[at] - asked.accelerators[at]
        said[at] = np.median(scaled) + asked.accelerators[at]
    return said


def bound(known: Known, fitted: Floats) -> Floats:
    """(n,) log of the least of the three bounds times their efficiencies.

    Unknown memory traffic and exchange do not limit; no answer where compute is unknown.
    """
    limits = [known.compute + fitted[0]]
    for values, efficiency in ((known.memory, fitted[1]), (known.exchange, fitted[2])):
        limits.append(np.where(np.isnan(values), np.inf, values + efficiency))
    least: Floats = np.min(limits, axis=0)
    return np.where(np.isnan(known.compute), np.nan, least)


def efficiencies(known: Known, values: Floats) -> Floats:
    """(3,) logs of the efficiencies of compute, memory and exchange."""
    rows = ~np.isnan(known.compute)
    if not rows.any():
        return np.zeros(3)
    start = _median(values - known.compute)

    def error(fitted: Floats) -> float:
        return float(np.mean(np.abs(values - bound(known, fitted))[rows]))

    best = np.array([start, 0.0, 0.0])
    least = error(best)
    for step in _STEPS:
        moved = True
        while moved:
            moved = False
            for at in range(3):
                for sign in (step, -step):
                    tried = best.copy()
                    tried[at] += sign
                    found = error(tried)
                    if found < least - 1e-9:
                        best, least, moved = tried, found, True
    return best


def _by_model(trained: Known, residual: Floats, asked: Known) -> Floats:
    medians = {model: _median(residual[rows]) for model, rows in _rows_by(trained.model).items()}
    return np.array([medians.get(model, np.nan) for model in asked.model], np.float64)


def _rows_by(keys: Iterable[_K]) -> dict[_K, Ints]:
    found: dict[_K, list[int]] = {}
    for row, key in enumerate(keys):
        found.setdefault(key, []).append(row)
    return {key: np.array(rows, np.int64) for key, rows in found.items()}


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else np.nan


Rule: TypeAlias = Callable[[Known, Floats, Known], Floats]

RULES: Mapping[str, Rule] = {
    "peak-rule": peak,
    "peak-by-model": peak_by_model,
    "roofline-rule": roofline,
    "roofline-by-model": roofline_by_model,
    "scaling-rule": scaling,
}


def said_by(name: str, night: Night) -> Floats:
    """(n,) what a rule says of a night's jobs, in the target's unit, NaN for no answer."""
    trained = known_of(night.training.jobs, night.catalogue)
    asked = known_of(night.jobs.jobs, night.catalogue)
    values = np.log(night.training.measured)
    return night.settings.target.of_log(RULES[name](trained, values, asked))
