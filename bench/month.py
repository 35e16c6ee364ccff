"""A month at the published scale: 750,000 attempts, `leap retrain` with nothing chosen."""

import json
import subprocess
import sys
import time
from datetime import timedelta
from functools import partial

from bench.fleets import START, simulated
from bench.memory import Looking, together_mb
from cli.console import percent

COLUMNS = ("figure", "value")
DAYS, PER_DAY = 31, 25_000
"""The last day judges."""


def run() -> list[tuple[object, ...]]:
    """The default estimators, one of which is chosen on five days that were held out."""
    with simulated(DAYS, PER_DAY) as (_, store):
        night = (START + timedelta(days=DAYS)).isoformat()
        command = [sys.executable, "-m", "cli.main", "retrain", "--store", str(store.root)]
        started = time.perf_counter()
        running = subprocess.Popen([*command, "--as-of", night, "--json"], stdout=subprocess.PIPE)
        with Looking(partial(together_mb, running.pid)) as looking:
            said, _ = running.communicate()
        spent = time.perf_counter() - started
    if running.returncode != 0:
        raise RuntimeError(f"the night ended with exit code {running.returncode}")
    metrics = json.loads(said)
    rows, evaluation = metrics["rows"], metrics["evaluation"]
    peak = max(looking.megabytes)
    return [
        ("training rows", f"{rows:,}"),
        ("published", metrics["estimator"]),
        ("minutes, from start to end", f"{spent / 60:.1f}"),
        *((f"seconds: {stage}", f"{taken:.0f}") for stage, taken in metrics["seconds"].items()),
        ("peak memory, all processes, shared pages once", f"{peak:,.0f} MB"),
        ("the same, a million rows", f"{peak / rows * 1e6:,.0f} MB"),
        ("peak_memory_mb of its metrics", f"{metrics['peak_memory_mb']:,.0f} MB"),
        ("w20", percent(evaluation["w20"])),
    ]
