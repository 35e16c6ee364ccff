"""A simulated fleet in a store, for benchmarks that need one."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.readers import read_records
from cli.simulation import Summary, simulate
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS
from functions.retrain.settings import Settings
from leap_model.intake import Counts, take_in
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue
from leap_model.times import start_of

START = date(2026, 1, 1)
BY = {name: Settings(estimator=ESTIMATORS[name], window_days=13) for name in DEFAULT}
"""A night of two weeks by each estimator that a night tries: the first is the default one,
the other serves by a forest."""


@contextmanager
def simulated(days: int, per_day: int) -> Iterator[tuple[Summary, LocalStore]]:
    """The fleet's files and a store with all of it, removed afterwards."""
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        fleet = simulate(Path(folder) / "fleet", days=days, per_day=per_day, seed=1, start=START)
        store = LocalStore(Path(folder) / "store")
        keep_catalogue(store, fleet.catalogue.read_bytes(), fleet.catalogue.name)
        for file in fleet.files:
            take_in(store, read_records(file), Counts(), start_of(START + timedelta(days=days)))
        yield fleet, store
