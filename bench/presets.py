"""Presets of the cascade, and single: the same 25,000 simulated rows and the same held-out day."""

from datetime import timedelta
from typing import Any

from bench.fleets import START, simulated
from cli.console import percent
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model.store import Store

COLUMNS = (
    *("estimator", "w20", "w10", "new families", "seconds", "experts", "scoring", "classifier"),
    *("memory MB", "artifact MB"),
)
NAMES = ("single", "cascade", "cascade-published")


def run() -> list[tuple[object, ...]]:
    """Wall seconds of training, then processor seconds of its parts. The last takes an hour."""
    with simulated(22, 5_000) as (_, store):
        as_of = START + timedelta(days=22)
        rows = []
        for name in NAMES:
            settings = Settings(estimator=ESTIMATORS[name], window_days=5)
            metrics = retrain(store, "local", as_of, settings, test_run=True)
            rows.append(_row(name, metrics, store))
        return rows


def _row(name: str, metrics: dict[str, Any], store: Store) -> tuple[object, ...]:
    evaluation, notes = metrics["evaluation"], metrics["learning"]
    rounds = [told["cpu_seconds"] for told in notes.get("rounds", ())]
    last = notes.get("cpu_seconds", {})
    parts = (
        sum(told["experts"] for told in rounds) + last.get("experts", 0.0),
        sum(told["scoring"] for told in rounds),
        last.get("classifier", 0.0),
    )
    files = store.keys(f"models/throughput/{metrics['version']}")
    size = sum(store.size(key) or 0 for key in files)
    return (
        name,
        percent(evaluation["w20"]),
        percent(evaluation["w10"]),
        percent(evaluation["cold"]["w20"]),
        f"{metrics['seconds']['train']:,.0f}",
        *(f"{seconds:,.0f}" for seconds in parts),
        f"{metrics['peak_memory_mb']:,.0f}",
        f"{size / 1e6:,.1f}",
    )
