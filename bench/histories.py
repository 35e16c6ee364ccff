"""Days before the window: what a night takes to make histories of them."""

import time
from datetime import timedelta
from pathlib import Path

from bench.fleets import START, simulated
from functions.retrain.dataset import read_records
from leap_model.reading import partition_days
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from leap_model.times import start_of

COLUMNS = ("days before", "attempts", "CPU seconds", "a million", "peak MB a million")
DAYS, PER_DAY = 21, 5_000


def run() -> list[tuple[object, ...]]:
    """A night of one day that trains, with none and with twenty days before it; after a first that
    loads what is loaded once."""
    end, target = START + timedelta(days=DAYS), TARGETS["throughput"]
    with simulated(DAYS, PER_DAY) as (_, store):
        days, catalogue = partition_days(store), stored_catalogue(store)
        last = end - timedelta(days=1)

        def spent(before: int) -> tuple[int, float, float]:
            first = last - timedelta(days=before)
            held = {day: keys for day, keys in days.items() if day >= first}
            Path("/proc/self/clear_refs").write_text("5")  # the simulation's peak is not a night's
            held_mb, started = _memory_mb("VmRSS"), time.process_time()
            records = read_records(store, held, last, end, catalogue, target)
            outcomes = records.outcomes_before(start_of(end))
            taken = time.process_time() - started
            return len(outcomes.family), taken, _memory_mb("VmHWM") - held_mb

        spent(0)
        (few, none, low), (many, all_, high) = spent(0), spent(DAYS - 1)
    millions = (many - few) / 1e6
    return [
        ("0", f"{few:,}", f"{none:.2f}", "", ""),
        (
            *(f"{DAYS - 1}", f"{many:,}", f"{all_:.2f}"),
            *(f"{(all_ - none) / millions:.1f}", f"{(high - low) / millions:.0f}"),
        ),
    ]


def _memory_mb(name: str) -> float:
    """A line of /proc/self/status: `VmRSS` is what is held, `VmHWM` the most that was."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith(name))
