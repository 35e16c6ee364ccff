"""Small files: 75,000 attempts of a month, a file each, read before and after they are merged."""

import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pyarrow as pa

from bench.fleets import START
from cli.readers import read_records
from cli.simulation import simulate
from leap_model.attempt import parse_attempt
from leap_model.merging import merge
from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore
from leap_model.table import SCHEMA, by_day, write_day
from leap_model.times import start_of

T = TypeVar("T")

COLUMNS = ("step", "files", "seconds", "CPU seconds")
DAYS, PER_DAY = 30, 2_500


class _Hasty(LocalStore):
    """A folder whose files need not outlive the machine: 75,000 of them are made in a minute."""

    def create(self, key: str, content: bytes) -> bool:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return True


def run() -> list[tuple[object, ...]]:
    """Written, read, merged and read again; raises unless both readings are the same."""
    rows: list[tuple[object, ...]] = []
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        fleet = simulate(Path(folder) / "fleet", days=DAYS, per_day=PER_DAY, seed=1, start=START)
        store, end = LocalStore(Path(folder) / "store"), START + timedelta(days=DAYS)
        hasty, now = _Hasty(store.root), start_of(end)
        for file in fleet.files:
            for record in read_records(file):
                for day, group in by_day([parse_attempt(record.value, now)]):
                    write_day(hasty, day, group, now)

        def timed(step: str, call: Callable[[], T]) -> T:
            files = sum(map(len, partition_days(store).values()))
            wall, cpu = time.perf_counter(), time.process_time()
            result = call()
            spent, seconds = time.process_time() - cpu, time.perf_counter() - wall
            rows.append((step, f"{files:,}", f"{seconds:.1f}", f"{spent:.1f}"))
            return result

        before = timed("read", lambda: _read(store))
        timed("merge", lambda: merge(store, date.max))
        after = timed("read", lambda: _read(store))
        if not distinct(before).equals(distinct(after)):
            raise AssertionError("merging changed what is read")
    return rows


def _read(store: LocalStore) -> pa.Table:
    return read_days(store, partition_days(store).items(), SCHEMA.names).whole().table
