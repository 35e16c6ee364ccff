"""Short nights: the smallest fleet that trains, and what a run of it says."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from functions.retrain.dataset import Attempts, Records, read_records
from functions.retrain.judged import Judged
from functions.retrain.learning.single import Single
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from functions.retrain.training import (
    Trained,
    history_at_launch,
    ranked_types,
    train,
    visible_before,
)
from leap_model.catalogue import Catalogue
from leap_model.columns import Labels
from leap_model.history import History, Outcomes, family_hashes, history_as_of
from leap_model.intake import Counts, Record, take_in
from leap_model.moves import read_moves
from leap_model.pointer import Pointer, read_pointer
from leap_model.reading import partition_days
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from leap_model.times import parse_time, start_of
from tests.support import NOW, QUICK, parquet_bytes, stored_table

TINY = Settings(estimator=Single(trees=4, leaves=6, learning_rate=0.5), window_days=9)
"""Seconds matter more here than accuracy."""
FEW = replace(TINY, min_rows=1, min_days=1)
"""Trains on whatever there is."""

AS_OF = date(2026, 1, 11)
"""The day after the ten days of `tests.support.fleet`."""
LATER, LATEST = AS_OF + timedelta(days=1), AS_OF + timedelta(days=2)


def night(store: LocalStore, as_of: date = AS_OF, settings: Settings = TINY, **options: Any) -> Any:
    """One run for the stage local."""
    return retrain(store, "local", as_of, settings, **options)


def pointer_of(store: LocalStore, stage: str = "local") -> Pointer | None:
    return read_pointer(store, stage, "throughput")[0]


def published_and_pointed(metrics: dict[str, Any]) -> tuple[bool, bool]:
    return metrics["published"], metrics["pointed"]


def versions(store: LocalStore) -> list[str]:
    """What the stage was pointed at, in order."""
    return [move.pointer.version for move in read_moves(store, "local", "throughput")]


def serving(store: LocalStore) -> str:
    """The version that the stage points at."""
    pointer = pointer_of(store)
    assert pointer is not None
    return pointer.version


def put(store: LocalStore, day: str, name: str, content: bytes) -> str:
    """An object in a day's folder, whatever it holds."""
    key = f"attempts/dt={day}/{name}"
    assert store.create(key, content)
    return key


def put_attempts(
    store: LocalStore, day: str, name: str, attempts: Iterable[dict[str, Any]]
) -> pa.Table:
    """Attempts as one object of a day's folder, whatever their own time."""
    table = stored_table(list(attempts))
    put(store, day, name, parquet_bytes(table))
    return table


def add(store: LocalStore, attempts: Iterable[Mapping[str, Any]]) -> Counts:
    """One more batch, as ingest would store it."""
    from json import dumps

    counts = Counts()
    take_in(store, [Record.of_json(dumps(entry).encode()) for entry in attempts], counts, NOW)
    return counts


def records(store: LocalStore, start: date, end: date) -> Records:
    """What a run over these days reads."""
    days, catalogue = partition_days(store), stored_catalogue(store)
    return read_records(store, days, start, end, catalogue, TARGETS["throughput"])


def rows_between(store: LocalStore, start: date, end: date) -> Attempts:
    """The attempts that training or evaluation would read."""
    return records(store, start, end).attempts_between(start, end)


def outcomes(store: LocalStore, before: date) -> Outcomes:
    """The outcomes that history is made of, as a run of that date reads them."""
    return records(store, date(2000, 1, 1), before).outcomes_before(start_of(before))


def history_of(store: LocalStore, family: str, launched_at: str, before: date = AS_OF) -> History:
    """The history of one family at a launch."""
    moment = np.array([parse_time(launched_at)], np.int64)
    hashes = family_hashes(Labels.of([family]))
    return history_as_of(outcomes(store, before), hashes, moment // 86_400_000_000 * 86_400_000_000)


Case = tuple[Trained, Judged, Catalogue]
"""A model, its predictions of the day after it was trained, and the catalogue."""


def judged_case(store: LocalStore) -> Case:
    """A model of the first nine days of a fleet, judged on the tenth."""
    first, day, end = date(2026, 1, 1), AS_OF - timedelta(days=1), AS_OF
    catalogue, known = stored_catalogue(store), outcomes(store, day)
    trained = train(rows_between(store, first, day).usable(), known, catalogue, QUICK)
    later = rows_between(store, day, end).usable()
    history = history_at_launch(later.jobs, known)
    before = visible_before(later.jobs)
    predicted = trained.predict(later.jobs, history, catalogue, before)
    judged = Judged(later, history, predicted, before, ranked_types(trained.hardware_rows, QUICK))
    return trained, judged, catalogue
