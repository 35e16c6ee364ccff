"""A month at the published scale: 750,000 attempts, `leap retrain` with nothing chosen."""

import json
import subprocess
import sys
import time
from datetime import timedelta

from bench.fleets import START, simulated
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
        done = subprocess.run(
            [*command, "--as-of", night, "--json"], check=True, stdout=subprocess.PIPE
        )
        spent = time.perf_counter() - started
    metrics = json.loads(done.stdout)
    rows, evaluation = metrics["rows"], metrics["evaluation"]
    peak = metrics["peak_memory_mb"]
    return [
        ("training rows", f"{rows:,}"),
        ("published", metrics["estimator"]),
        ("minutes, from start to end", f"{spent / 60:.1f}"),
        *((f"seconds: {stage}", f"{taken:.0f}") for stage, taken in metrics["seconds"].items()),
        ("peak memory, all processes", f"{peak:,.0f} MB"),
        ("the same, a million rows", f"{peak / rows * 1e6:,.0f} MB"),
        ("w20", percent(evaluation["w20"])),
    ]
