"""Import: one day of 25,000 simulated attempts into an empty store."""

import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fleets import START
from cli.readers import read_records
from cli.simulation import simulate
from leap_model.intake import Counts, take_in
from leap_model.store import LocalStore
from leap_model.times import start_of

COLUMNS = ("step", "seconds", "CPU seconds", "attempts per CPU second")


def run() -> list[tuple[object, ...]]:
    """First import, then the same file again."""
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        fleet = simulate(Path(folder) / "fleet", days=1, per_day=25_000, seed=1, start=START)
        store = LocalStore(Path(folder) / "store")
        now = start_of(START + timedelta(days=2))
        rows: list[tuple[object, ...]] = []
        for step in ("first import", "the same again"):
            wall, cpu = time.perf_counter(), time.process_time()
            counts = Counts()
            take_in(store, read_records(fleet.files[0]), counts, now)
            spent = time.process_time() - cpu
            seconds = f"{time.perf_counter() - wall:.2f}"
            rows.append((step, seconds, f"{spent:.2f}", f"{counts.read / spent:,.0f}"))
        return rows
