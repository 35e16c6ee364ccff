"""Attempts as the columns that training and evaluation read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from functions.retrain.arrow import floats_of, labels_of, objects_of_json, objects_of_map, times_of
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.family import family_of
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import accelerators_of
from leap_model.history import Outcomes, family_hashes
from leap_model.limits import DAY_US
from leap_model.reading import IDENTITY, distinct, read_days
from leap_model.store import Store
from leap_model.targets import Target
from leap_model.times import day_of, start_of

_LONGEST_S = 100 * 365.25 * 24 * 3600
"""A duration of over a century is a unit mistaken; it must not overflow a launch time."""

_NAMES = ["job_name", "job_family"]
"""Columns that become the one column `family` as they are read."""
_JOB = (
    "model_type",
    "hardware_type",
    "num_trainers",
    "accelerators_per_host",
    "batch_size",
    "launched_at",
    "duration_s",
    "config",
    "allocation",
    "architecture",
)


@dataclass(frozen=True, slots=True)
class Attempts:
    """n attempts as columns.

    `measured` (n,) the target in its own unit, NaN where not usable; `completed_at` (n,) int64
    microseconds; `accelerator_hours` (n,) NaN where duration or accelerators are unknown.
    """

    jobs: Jobs
    completed_at: Ints
    measured: Floats
    accelerator_hours: Floats

    def __len__(self) -> int:
        return len(self.jobs)

    def take(self, rows: NDArray[Any]) -> "Attempts":
        """The attempts at some rows."""
        return Attempts(
            self.jobs.take(rows),
            self.completed_at[rows],
            self.measured[rows],
            self.accelerator_hours[rows],
        )

    def usable(self) -> "Attempts":
        """The attempts whose target was measured."""
        return self.take(np.flatnonzero(~np.isnan(self.measured)))


@dataclass(frozen=True, slots=True)
class Records:
    """What lies in the store for a span of days, not yet told apart by attempt id.

    Made once; any number of nights take their attempts and outcomes from it.
    """

    target: Target
    light: pa.Table
    """Identity, target and family of each record of the days that train and evaluate."""
    older: pa.Table
    """The same for every day before those."""
    attempts: Attempts
    """Each record of `light`, in its order."""
    skipped: tuple[str, ...]

    def outcomes_before(self, moment: int) -> Outcomes:
        """Every usable measurement that completed before a moment, each attempt once."""
        table = distinct(_completed(pa.concat_tables([self.older, self.light]), None, moment))
        measured = self.target.usable(floats_of(table[self.target.name]))
        kept = ~np.isnan(measured)
        return Outcomes(
            family_hashes(labels_of(table["family"]))[kept],
            times_of(table["completed_at"])[kept],
            np.log(measured[kept]),
        )

    def attempts_between(
        self, start: date, end: date, known_before: date | None = None
    ) -> Attempts:
        """The attempts that completed from `start` up to, not including, `end`, by their own time.

        Rows are ordered by attempt id. An attempt that completed again from `end` on, before
        `known_before` (by default `end`), is not among them: its last record is elsewhere.
        """
        rows = self._rows_between(start, end, known_before or end)
        return self.attempts.take(rows["row"].to_numpy())

    def unseen_between(self, start: date, end: date) -> Attempts:
        """Those of `attempts_between` that no model and no history before `start` has seen.

        An attempt that completed before `start` and again afterwards was in both.
        """
        return self.attempts.take(self._unseen(start, end)["row"].to_numpy())

    def unseen_ids_between(self, start: date, end: date) -> tuple[str, ...]:
        """The attempt ids of `unseen_between`, in its order: nothing that an estimator is shown."""
        return tuple(self._unseen(start, end)["attempt_id"].to_pylist())

    def per_day(self) -> Mapping[date, int]:
        """Records by the day that they completed on, of the days that train and evaluate."""
        days, counts = np.unique(times_of(self.light["completed_at"]) // DAY_US, return_counts=True)
        return {day_of(int(day) * DAY_US): int(n) for day, n in zip(days, counts, strict=True)}

    def _unseen(self, start: date, end: date) -> pa.Table:
        rows = self._rows_between(start, end, end)
        everything = pa.concat_tables([self.older, self.light])
        seen = _completed(everything, None, start_of(start))["attempt_id"].combine_chunks()
        fresh = pc.invert(pc.is_in(rows["attempt_id"], value_set=seen))
        return rows.filter(fresh)

    def _rows_between(self, start: date, end: date, known_before: date) -> pa.Table:
        """Identity and `row` of each attempt that completed in a span and not again."""
        numbered = self.light.append_column("row", pa.array(np.arange(len(self.light))))
        known = distinct(_completed(numbered, None, start_of(known_before)))
        return _completed(known, start_of(start), start_of(end))


def read_records(
    store: Store,
    days: Mapping[date, Sequence[str]],
    start: date,
    end: date,
    catalogue: Catalogue,
    target: Target,
) -> Records:
    """Read the days from `start` up to, not including, `end`, and the history before them.

    `days` are the store's, as `partition_days` lists them.
    """
    window = [(day, keys) for day, keys in days.items() if start <= day < end]
    before = [(day, keys) for day, keys in days.items() if day < start]
    needed = (*IDENTITY, target.name, *_NAMES)
    recent = read_days(store, window, (*needed, *_JOB)).whole()
    older = read_days(store, before, needed).whole()
    table = _with_family(recent.table)
    light = table.select([*IDENTITY, target.name, "family"])
    attempts = _attempts(table, catalogue, target)
    skipped = (*recent.skipped, *older.skipped)
    return Records(target, light, _with_family(older.table), attempts, skipped)


def _attempts(table: pa.Table, catalogue: Catalogue, target: Target) -> Attempts:
    """Turn a table of attempts into columns."""
    completed = times_of(table["completed_at"])
    duration = floats_of(table["duration_s"])
    jobs = Jobs(
        model_type=labels_of(table["model_type"]),
        hardware_type=labels_of(table["hardware_type"]).map(_canonical(catalogue)),
        family=labels_of(table["family"]),
        num_trainers=floats_of(table["num_trainers"]),
        batch_size=floats_of(table["batch_size"]),
        accelerators_per_host=floats_of(table["accelerators_per_host"]),
        launched_at=launches(table["launched_at"], completed, duration),
        config=objects_of_json(table["config"]),
        allocation=objects_of_json(table["allocation"]),
        architecture=objects_of_map(table["architecture"]),
    )
    accelerators = accelerators_of(jobs, Hardware(jobs, catalogue))
    measured = target.usable(floats_of(table[target.name]))
    return Attempts(jobs, completed, measured, accelerators * duration / 3600)


def _with_family(table: pa.Table) -> pa.Table:
    """The table with `family` in the place of names; derived once a distinct pair of them."""
    names, keys = labels_of(table["job_name"]), labels_of(table["job_family"])
    width = len(keys.values) + 1
    pairs, rows = np.unique(
        names.codes.astype(np.int64) * width + keys.codes + 1, return_inverse=True
    )
    given = (None, *keys.values)
    families = [family_of(names.values[pair // width], given[pair % width]) for pair in pairs]
    column = pa.array(families, pa.string()).take(pa.array(rows))
    return table.drop_columns(_NAMES).append_column("family", column)


def launches(column: pa.ChunkedArray, completed: Ints, duration: Floats) -> Ints:
    """(n,) when each attempt was launched, as far as it can be known.

    Falls back to completion minus duration, then to completion, and is never after it: a
    launcher whose clock is fast must not find its own result in its history.
    """
    known = column.combine_chunks()
    seconds = np.minimum(np.where(np.isnan(duration), 0.0, duration), _LONGEST_S)
    elapsed = (seconds * 1e6).astype(np.int64)
    stated = times_of(known.fill_null(0))
    return np.where(known.is_valid(), np.minimum(stated, completed), completed - elapsed)


def _canonical(catalogue: Catalogue) -> Callable[[str], str]:
    """The catalogue's own name of a type; types that it does not know keep theirs."""

    def canonical(name: str) -> str:
        known = catalogue.find(name)
        return name if known is None else known.hardware_type

    return canonical


def _completed(table: pa.Table, start: int | None, end: int) -> pa.Table:
    """The rows that completed from `start` (None: ever) up to, not including, `end`."""
    times = times_of(table["completed_at"])
    return table.filter(pa.array((times < end) & (start is None or times >= start)))
