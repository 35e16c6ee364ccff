"""One ranking in process: 20 candidates, by each estimator that a night tries, on one fleet."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

from bench.fleets import START, simulated
from bench.timing import processor_milliseconds
from cli.example import newest_attempt, request_of
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model import Ranker

COLUMNS = ("call", "by", "median CPU ms", "p99 CPU ms")


def run() -> list[tuple[object, ...]]:
    """The whole call, from a parsed request to an answer."""
    rows: list[tuple[object, ...]] = []
    with simulated(14, 1_000) as (fleet, store):
        request: dict[str, Any] = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
        request["candidates"] = request["candidates"][:20]
        for name in DEFAULT:
            settings = Settings(estimator=ESTIMATORS[name], window_days=13)
            retrain(store, name, START + timedelta(days=14), settings)
            ranker = Ranker.from_store(store.root, stage=name, switched=False)
            median, p99 = processor_milliseconds([partial(ranker.rank, request)] * 300)
            rows.append(("Ranker.rank", name, f"{median:.2f}", f"{p99:.2f}"))
    median, p99 = processor_milliseconds([lambda: json.dumps(request)] * 300)
    return [*rows, ("json.dumps of the request, to compare", "", f"{median:.3f}", f"{p99:.3f}")]
