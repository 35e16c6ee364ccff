"""Cascade, cheaper constants: a nightly run over 100,000 simulated rows."""

from datetime import timedelta

from bench.fleets import START, simulated
from cli.console import percent
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings

COLUMNS = ("figure", "value")
DAYS = 22


def run() -> list[tuple[object, ...]]:
    """One run from the store to the pointer."""
    with simulated(DAYS, 5_000) as (_, store):
        settings = Settings(estimator=ESTIMATORS["cascade"])
        metrics = retrain(store, "local", START + timedelta(days=DAYS), settings)
    evaluation, learning = metrics["evaluation"], metrics["learning"]
    work = learning["cpu_seconds"]
    moved = ", ".join(percent(told["moved"]) for told in learning["rounds"])
    return [
        ("training rows", f"{metrics['rows']:,}"),
        ("seconds", f"{sum(metrics['seconds'].values()):.0f}"),
        *((f"seconds: {stage}", f"{spent:.1f}") for stage, spent in metrics["seconds"].items()),
        *((f"processor seconds: last {part}", f"{spent:.0f}") for part, spent in work.items()),
        ("peak memory, all processes", f"{metrics['peak_memory_mb']:,.0f} MB"),
        ("rows moved in each round", moved),
        ("w20 / w10", f"{percent(evaluation['w20'])} / {percent(evaluation['w10'])}"),
        ("w20 of new families", percent(evaluation["cold"]["w20"])),
    ]
