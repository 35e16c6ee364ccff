"""Real measured throughput from a folder: a store of it, and nights of any of its rows.

The folder holds `training.jsonl.gz` and `inference.jsonl.gz`, an attempt a line with its `source`
besides, and `hardware.csv`, the catalogue.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from bench.laboratory.results import digest
from functions.retrain.dataset import Attempts, read_records
from functions.retrain.nights import Night
from functions.retrain.settings import Settings
from functions.retrain.training import training_set, visible_before
from leap_model.catalogue import Catalogue
from leap_model.columns import Ints
from leap_model.errors import LeapError
from leap_model.history import Outcomes, family_hashes, history_as_of
from leap_model.intake import Counts, Record, take_in
from leap_model.reading import partition_days
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue, stored_catalogue
from leap_model.times import now_us

FILES = ("training", "inference")
LEFT_OUT = ("lambda",)
"""Sources that are not trained on: short synthetic runs."""


class MeasuredDataError(LeapError):
    """A file of the folder is not there."""


@dataclass(frozen=True, slots=True)
class Measured:
    """n attempts of one file, with what each is scored by. `sources` (n,) are their origins."""

    attempts: Attempts
    sources: NDArray[np.str_]
    catalogue: Catalogue
    settings: Settings


def data_digest(folder: Path) -> str:
    """What the folder's files hold, in twelve hexadecimal digits.

    Raises
    ------
    MeasuredDataError
        One is not there.
    """
    paths = [*(_file(folder, name) for name in FILES), folder / "hardware.csv"]
    for path in paths:
        if not path.is_file():
            raise MeasuredDataError(f"{path} is not there")
    return digest([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])


@contextmanager
def stored(folder: Path, name: str) -> Iterator[tuple[LocalStore, dict[str, str]]]:
    """A temporary store of a file's attempts, without those of `LEFT_OUT`, and their sources by
    attempt id."""
    with TemporaryDirectory(prefix="leap-measured-") as root:
        store = LocalStore(root)
        keep_catalogue(store, (folder / "hardware.csv").read_bytes(), "hardware.csv")
        sources: dict[str, str] = {}
        kept = []
        with gzip.open(_file(folder, name)) as lines:
            for line in lines:
                told = json.loads(line)
                if told["source"] not in LEFT_OUT:
                    sources[told["attempt_id"]] = told["source"]
                    kept.append(Record.of_json(line))
        take_in(store, kept, Counts(), now_us())
        yield store, sources


def read_measured(folder: Path, name: str, settings: Settings) -> Measured:
    """Every usable attempt of a file, whenever it ran."""
    with stored(folder, name) as (store, sources):
        days = partition_days(store)
        first, end = min(days), max(days) + timedelta(days=1)
        catalogue = stored_catalogue(store)
        records = read_records(store, days, first, end, catalogue, settings.target)
        ids = records.unseen_ids_between(first, end)  # nothing is older: these are all
        attempts = records.attempts_between(first, end)
    usable = np.flatnonzero(~np.isnan(attempts.measured))
    of_row = np.array([sources[name] for name in ids])
    return Measured(attempts.take(usable), of_row[usable], catalogue, settings)


def night_of_rows(data: Measured, kept: NDArray[np.bool_], asked: Ints) -> Night:
    """A night trained on some rows, whenever they ran, and asked of others.

    History is of the rows `kept` alone: of the family, and completed before the start of the day of
    a row's launch. What resembles a job, for methods that look for it, is of the rows `kept`
    whenever they ran. No measurement of the rows asked about is in either.

    Parameters
    ----------
    data : Measured
        n attempts.
    kept : (n,) bool
        Which train.
    asked : (m,) int
        Rows that are asked about.
    """
    training = data.attempts.take(np.flatnonzero(kept))
    families = family_hashes(training.jobs.family)
    outcomes = Outcomes(families, training.completed_at, np.log(training.measured))
    jobs = unmeasured(data.attempts.take(asked))
    own = family_hashes(jobs.jobs.family)
    before = visible_before(jobs.jobs)
    ever = np.full(len(jobs), data.attempts.completed_at.max() + 1)
    rows = training_set(training, outcomes, data.catalogue, data.settings.target)
    return Night(
        *(training, rows, outcomes, outcomes, data.catalogue, data.settings, jobs, own, ever),
        history_as_of(outcomes, own, before),
    )


def unmeasured(attempts: Attempts) -> Attempts:
    """The attempts as a method may see them."""
    unknown = np.full(len(attempts), np.nan)
    return replace(attempts, measured=unknown, accelerator_hours=unknown)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.jsonl.gz"
