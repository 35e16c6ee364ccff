"""What a night has of the store: attempts that train, attempts that judge, and what was known."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from functions.retrain.dataset import Attempts, read_records
from functions.retrain.settings import Settings
from functions.retrain.window import Window, evaluation_day, remembered
from leap_model.catalogue import Catalogue
from leap_model.history import Outcomes
from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.times import start_of


@dataclass(frozen=True, slots=True)
class Material:
    """A night's attempts. All else that was read for them is let go: it holds twice their memory.

    Attributes
    ----------
    window, day : Window, date
        The days that train, and the one after them that judges.
    usable, held_out : Attempts
        Theirs, each with a usable measurement.
    outcomes : Outcomes
        What had completed before the night.
    read : int
        Attempts of the window, usable or not.
    per_day : mapping of date to int
        Records of each day that trains or judges.
    unknown_hardware : mapping of str to int
        Attempts of the window on types that the catalogue does not know.
    skipped : tuple of str
        Objects among the attempts that are no attempt files.
    """

    window: Window
    day: date
    usable: Attempts
    held_out: Attempts
    outcomes: Outcomes
    read: int
    per_day: Mapping[date, int]
    unknown_hardware: Mapping[str, int]
    skipped: tuple[str, ...]


def material_of(store: Store, as_of: date, catalogue: Catalogue, settings: Settings) -> Material:
    """What a night of a date reads.

    Raises
    ------
    TrainingError
        The store holds no attempts from before it.
    StoreError
        A day is mostly unreadable.
    """
    every = partition_days(store)
    day = evaluation_day(as_of, every)
    window = Window.before(day, settings.window_days, every)
    days = remembered(every, window.start, as_of, settings.history_days)
    records = read_records(store, days, window.start, as_of, catalogue, settings.target)
    attempts = records.attempts_between(window.start, window.end, known_before=as_of)
    return Material(
        window,
        day,
        attempts.usable(),
        records.unseen_between(day, day + timedelta(days=1)).usable(),
        records.outcomes_before(start_of(as_of)),
        len(attempts),
        records.per_day(),
        _unknown(attempts, catalogue),
        records.skipped,
    )


def _unknown(attempts: Attempts, catalogue: Catalogue) -> dict[str, int]:
    hardware = attempts.jobs.hardware_type
    counts = np.bincount(hardware.codes, minlength=len(hardware.values))
    return {
        name: int(count)
        for name, count in sorted(zip(hardware.values, counts, strict=True))
        if count and catalogue.find(name) is None
    }
