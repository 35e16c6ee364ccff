"""One ranking in process: 20 candidates, the default estimator on a simulated fleet."""

import json
from datetime import timedelta
from typing import Any

from bench.fleets import START, simulated
from bench.timing import processor_milliseconds
from cli.example import newest_attempt, request_of
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model import Ranker

COLUMNS = ("call", "median CPU ms", "p99 CPU ms")


def run() -> list[tuple[object, ...]]:
    """The whole call, from a parsed request to an answer."""
    with simulated(14, 1_000) as (fleet, store):
        retrain(store, "local", START + timedelta(days=14), Settings(window_days=13))
        request: dict[str, Any] = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
        request["candidates"] = request["candidates"][:20]
        ranker = Ranker.from_store(store.root)
        whole = processor_milliseconds([lambda: ranker.rank(request)] * 300)
        encode = processor_milliseconds([lambda: json.dumps(request)] * 300)
    return [
        ("Ranker.rank", f"{whole[0]:.2f}", f"{whole[1]:.2f}"),
        ("json.dumps of the request, to compare", f"{encode[0]:.3f}", f"{encode[1]:.3f}"),
    ]
