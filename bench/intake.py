"""Intake: a day of 25,000 simulated attempts, imported and as a queue delivers them."""

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.fleets import START
from cli.readers import read_records
from cli.simulation import simulate
from functions.ingest.batch import take_batch
from functions.ingest.message import Message
from infra.settings import INGEST_BATCH
from leap_model.events import ATTEMPT, SOURCE
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
        rows: list[tuple[object, ...]] = [_command(fleet.files[0], Path(folder) / "by command")]
        for step in ("first import", "the same again"):
            wall, cpu = time.perf_counter(), time.process_time()
            counts = Counts()
            take_in(store, read_records(fleet.files[0]), counts, now)
            spent = time.process_time() - cpu
            seconds = f"{time.perf_counter() - wall:.2f}"
            rows.append((step, seconds, f"{spent:.2f}", f"{counts.read / spent:,.0f}"))
        return [*rows, _handled(fleet.files[0], LocalStore(Path(folder) / "handled"), now)]


def _command(file: Path, store: Path) -> tuple[object, ...]:
    """`leap import` as it is typed: the interpreter's start is in it."""
    started, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "cli.main", "import", str(file), "--store", str(store)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - started, os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return ("leap import", f"{seconds:.2f}", f"{spent:.2f}", f"{25_000 / spent:,.0f}")


def _handled(file: Path, store: LocalStore, now: int) -> tuple[object, ...]:
    """Batches of the ingest function, each attempt in its event as the bus delivers it."""
    messages = [
        Message(str(at), json.dumps(_event(record.value)).encode(), now)
        for at, record in enumerate(read_records(file))
    ]
    wall, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(messages), INGEST_BATCH):
        take_batch(store, messages[start : start + INGEST_BATCH], now)
    spent, seconds = time.process_time() - cpu, time.perf_counter() - wall
    rate = f"{len(messages) / spent:,.0f}"
    return (f"ingest, batches of {INGEST_BATCH:,}", f"{seconds:.2f}", f"{spent:.2f}", rate)


def _event(detail: Any) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "00000000-0000-0000-0000-000000000000",
        "region": "eu-west-1",
        "detail-type": ATTEMPT,
        "source": SOURCE,
        "account": "111122223333",
        "resources": [],
        "time": "2026-01-01T00:00:00Z",
        "detail": detail,
    }
