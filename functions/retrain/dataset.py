"""Attempts as the columns that training and evaluation read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from functions.retrain.arrow import floats_of, labels_of, objects_of_json, objects_of_map, times_of
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.family import family_of
from leap_model.features.hardware import Hardware
from leap_model.history import Outcomes, family_hashes
from leap_model.limits import LEAST_THROUGHPUT
from leap_model.reading import IDENTITY, distinct, read_days
from leap_model.store import Store
from leap_model.times import start_of

_LONGEST_S = 100 * 365.25 * 24 * 3600
"""A duration of over a century is a unit mistaken; it must not overflow a launch time."""

_NAMES = ["job_name", "job_family"]
"""Columns that become the one column `family` as they are read."""
HISTORY_COLUMNS = (*IDENTITY, "throughput")
JOB_COLUMNS = (
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

    `throughput` (n,) samples per second, NaN where not usable; `completed_at` (n,) int64
    microseconds; `accelerator_hours` (n,) NaN where duration or accelerators are unknown.
    """

    jobs: Jobs
    completed_at: Ints
    throughput: Floats
    accelerator_hours: Floats

    def __len__(self) -> int:
        return len(self.jobs)

    def take(self, rows: NDArray[Any]) -> "Attempts":
        """The attempts at some rows."""
        return Attempts(
            self.jobs.take(rows),
            self.completed_at[rows],
            self.throughput[rows],
            self.accelerator_hours[rows],
        )

    def usable(self) -> "Attempts":
        """The attempts whose throughput is a measurement."""
        return self.take(np.flatnonzero(~np.isnan(self.throughput)))


@dataclass(frozen=True, slots=True)
class Raw:
    """What lies in the store for a span of days, not yet told apart by attempt id."""

    table: pa.Table
    """History and job columns, for the days that train and evaluate."""
    older: pa.Table
    """The history columns only, for every day before those."""
    skipped: tuple[str, ...]


def read_raw(store: Store, days: Mapping[date, Sequence[str]], start: date, end: date) -> Raw:
    """Read the days from `start` up to, not including, `end`, and the history before them.

    `days` are the store's, as `partition_days` lists them.
    """
    window = [(day, keys) for day, keys in days.items() if start <= day < end]
    before = [(day, keys) for day, keys in days.items() if day < start]
    recent = read_days(store, window, (*HISTORY_COLUMNS, *_NAMES, *JOB_COLUMNS)).whole()
    older = read_days(store, before, (*HISTORY_COLUMNS, *_NAMES)).whole()
    skipped = (*recent.skipped, *older.skipped)
    return Raw(_with_family(recent.table), _with_family(older.table), skipped)


def outcomes_before(raw: Raw, moment: int) -> Outcomes:
    """Every usable measurement that completed before a moment, each attempt once."""
    light = raw.table.select(raw.older.column_names)
    first = np.iinfo(np.int64).min
    table = distinct(_completed(pa.concat_tables([raw.older, light]), first, moment))
    throughput = usable_throughput(table["throughput"])
    kept = ~np.isnan(throughput)
    return Outcomes(
        family_hashes(labels_of(table["family"]))[kept],
        times_of(table["completed_at"])[kept],
        np.log(throughput[kept]),
    )


def attempts_between(
    raw: Raw, start: date, end: date, catalogue: Catalogue, known_before: date | None = None
) -> Attempts:
    """The attempts that completed from `start` up to, not including, `end`, by their own time.

    Rows are ordered by attempt id. An attempt that completed again from `end` on, before
    `known_before` (by default `end`), is not among them: its last record is elsewhere.
    """
    first = np.iinfo(np.int64).min
    known = distinct(_completed(raw.table, first, start_of(known_before or end)))
    return attempts_of(_completed(known, start_of(start), start_of(end)), catalogue)


def attempts_of(table: pa.Table, catalogue: Catalogue) -> Attempts:
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
    accelerators = jobs.accelerators_per_host
    known = Hardware(jobs, catalogue).specification("accelerators_per_host")
    accelerators = np.where(np.isnan(accelerators), known, accelerators) * jobs.num_trainers
    throughput = usable_throughput(table["throughput"])
    return Attempts(jobs, completed, throughput, accelerators * duration / 3600)


def usable_throughput(column: pa.ChunkedArray) -> Floats:
    """(n,) samples per second; NaN for missing, zero, negative and non-finite ones."""
    values = floats_of(column)
    return np.where((values >= LEAST_THROUGHPUT) & (values < np.inf), values, np.nan)


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


def _completed(table: pa.Table, start: int, end: int) -> pa.Table:
    times = times_of(table["completed_at"])
    return table.filter(pa.array((times >= start) & (times < end)))
