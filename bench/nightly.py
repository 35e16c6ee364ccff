"""Nightly run: 20 simulated days of 5,000 attempts, the default estimator and no challenger."""

from datetime import timedelta

from bench.fleets import START, simulated
from cli.console import percent
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings

COLUMNS = ("figure", "value")


def run() -> list[tuple[object, ...]]:
    """One run, its stages, its memory and its accuracy on the held-out day."""
    with simulated(20, 5_000) as (_, store):
        metrics = retrain(store, "local", START + timedelta(days=20), Settings())
        files = store.keys(f"models/throughput/{metrics['version']}")
        size = sum(store.size(key) or 0 for key in files)
    evaluation = metrics["evaluation"]
    return [
        ("training rows", f"{metrics['rows']:,}"),
        *((f"seconds: {stage}", f"{spent:.1f}") for stage, spent in metrics["seconds"].items()),
        ("peak memory", f"{metrics['peak_memory_mb']:,.0f} MB"),
        ("artifact", f"{size / 1e6:.1f} MB"),
        ("w20 / w10", f"{percent(evaluation['w20'])} / {percent(evaluation['w10'])}"),
        ("median error", percent(evaluation["mdape"])),
        ("w20 of new families", percent(evaluation["cold"]["w20"])),
    ]
