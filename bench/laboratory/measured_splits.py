"""Measured throughput split by time, and by whole configurations."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.laboratory.measured_data import Measured, night_of_rows, stored, unmeasured
from bench.laboratory.methods import Method
from functions.retrain.dataset import Attempts
from functions.retrain.evaluation import figures
from functions.retrain.nights import Night, read_past
from functions.retrain.settings import Settings
from leap_model.columns import Floats
from leap_model.history import history_as_of
from leap_model.times import start_of

SPLIT = date(2024, 8, 1)
"""The first day after every round before MLPerf v4.1."""
HORIZON_DAYS = 130
WINDOW_DAYS = 2_200
_HELD_OUT = 0.25


def by_time(folder: Path, settings: Settings) -> tuple[Night, Attempts]:
    """The night of the split, asked of each of its n attempts twice, and these attempts.

    The first n jobs see what had completed before the split, the others what had completed before
    the day of their launch.
    """
    with stored(folder, "training") as (store, _):
        wide = replace(settings, window_days=WINDOW_DAYS)
        past = read_past(store, wide, 1, SPLIT, HORIZON_DAYS)
        night = past.night(SPLIT, wide, online_history=True)
    twice = np.tile(np.arange(len(night.jobs)), 2)
    before = np.concatenate([np.minimum(night.before, start_of(SPLIT)), night.before])
    families = night.families[twice]
    asked = replace(
        night,
        jobs=unmeasured(night.jobs.take(twice)),
        families=families,
        before=before,
        history=history_as_of(night.outcomes, families, before),
    )
    return asked, night.jobs


def sit_by_time(night: Night, jobs: Attempts, method: Method) -> dict[str, Any]:
    """`before` and `online`: w20 and the rest of all attempts that a method answers, of first
    attempts (of families of which nothing was visible), and of repeats."""
    said = method.predict(night)
    first = night.history.runs == 0
    halves = {"before": slice(0, len(jobs)), "online": slice(len(jobs), None)}
    return {
        name: {
            "all": marks(jobs.measured, said[half]),
            "first": marks(jobs.measured[first[half]], said[half][first[half]]),
            "repeats": marks(jobs.measured[~first[half]], said[half][~first[half]]),
        }
        for name, half in halves.items()
    }


def configurations(data: Measured) -> NDArray[np.int64]:
    """(n,) a number for each configuration: model, hardware type, hosts, accelerators a host and
    batch size."""
    jobs = data.attempts.jobs
    columns = (
        *(jobs.model_type.codes, jobs.hardware_type.codes),
        *(jobs.num_trainers, np.nan_to_num(jobs.accelerators_per_host), jobs.batch_size),
    )
    _, rows = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    numbers: NDArray[np.int64] = rows.ravel()
    return numbers


def held_out_rows(data: Measured, seed: int) -> NDArray[np.bool_]:
    """(n,) the rows of a random quarter of the configurations."""
    numbers = configurations(data)
    count = int(numbers.max()) + 1
    drawn = np.random.default_rng(seed).permutation(count)[: round(count * _HELD_OUT)]
    return np.isin(numbers, drawn)


def by_configuration(data: Measured, seed: int) -> tuple[Night, Floats]:
    """The night that knows three quarters of the configurations, and what the rest measured."""
    held = held_out_rows(data, seed)
    rows = np.flatnonzero(held)
    return night_of_rows(data, ~held, rows), data.attempts.measured[rows]


def marks(measured: Floats, said: Floats) -> dict[str, Any]:
    """The figures of what is answered, `attempts` of all, and the share answered."""
    answered = ~np.isnan(said)
    return {
        "attempts": len(said),
        "coverage": float(np.mean(answered)) if len(said) else None,
        **figures(measured[answered], said[answered]),
    }
