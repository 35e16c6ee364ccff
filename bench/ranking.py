"""Rankings in process, 20 and 100 candidates: by what a night tries, and by a small cascade."""

import gzip
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from bench.cascades import SIZES
from bench.fleets import START, simulated
from bench.holding import published
from bench.timing import processor_milliseconds
from cli.example import request_of
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model import Ranker, history, model, prediction, references
from leap_model import ranker as ranking
from leap_model.features import schema

COLUMNS = (
    *("by", "candidates", "CPU ms: median", "p99", "request", "past", "features", "model"),
    "whole ÷ model",
)
_JOBS: Final = 300
_PARTS: Final = (
    *(("request", ranking, "parse_request"), ("past", history.Snapshot, "lookup")),
    *(("past", references.References, "known"), ("features", prediction, "raw_columns")),
    *(("features", schema.Schema, "encode"), ("model", model.Model, "predict")),
)
"""What a call is made of: a name, and where the function is. The rest is admission and answer."""


def run() -> list[tuple[object, ...]]:
    """The whole call for different jobs of a day, from a parsed request to an answer, and medians
    of its parts."""
    rows: list[tuple[object, ...]] = []
    with simulated(14, 1_000) as (fleet, store):
        requests = _requests(fleet.files[-1], fleet.catalogue)
        for name in DEFAULT:
            settings = Settings(estimator=ESTIMATORS[name], window_days=13)
            retrain(store, name, START + timedelta(days=14), settings)
            ranker = Ranker.from_store(store.root, stage=name, switched=False)
            rows += _rows(name, ranker, requests)
        retrain(store, "local", START + timedelta(days=14), settings)
        published(SIZES[0], store)
        rows += _rows("small cascade", Ranker.from_store(store.root), requests)
    spent, tail = processor_milliseconds([partial(json.dumps, _of(one, 20)) for one in requests])
    return [*rows, ("json.dumps of the request", 20, f"{spent:.3f}", f"{tail:.3f}", *[""] * 5)]


def _requests(file: Path, catalogue: Path) -> list[dict[str, Any]]:
    """What launchers would have asked before the first attempts of a day."""
    with gzip.open(file, "rt") as lines:
        attempts = [json.loads(line) for line in lines][:_JOBS]
    return [request_of(attempt, catalogue) for attempt in attempts]


def _rows(
    name: str, ranker: Ranker, requests: Sequence[dict[str, Any]]
) -> Iterator[tuple[object, ...]]:
    for count in (20, 100):
        calls = [partial(ranker.rank, _of(request, count)) for request in requests]
        if any(len(call()["preference"]) < count // 2 for call in calls):
            raise RuntimeError("half of the candidates were not ranked")
        median, tail = processor_milliseconds(calls)
        parts = _parts(calls)
        shown = [f"{parts[part]:.2f}" for part in ("request", "past", "features", "model")]
        times = f"{median / parts['model']:.2f}"
        yield name, count, f"{median:.2f}", f"{tail:.2f}", *shown, times


def _of(request: dict[str, Any], count: int) -> dict[str, Any]:
    """So many candidates: the catalogue's types, again with other numbers of hosts."""
    names = [name for name in request["candidates"] if isinstance(name, str)][:-1]
    candidates = [
        {
            "hardware_type": names[at % len(names)],
            "id": str(at),
            "num_trainers": 1 + at // len(names),
        }
        for at in range(count)
    ]
    return request | {"candidates": candidates}


def _parts(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Median processor milliseconds of each part, each with what it calls."""
    spent = defaultdict[str, list[float]](list)
    for call in calls:
        once = defaultdict[str, float](float)
        with ExitStack() as stack:
            for part, holder, name in _PARTS:
                stack.enter_context(_timed(part, holder, name, once))
            call()
        for part, milliseconds in once.items():
            spent[part].append(milliseconds)
    return defaultdict(float, {part: float(np.median(every)) for part, every in spent.items()})


@contextmanager
def _timed(part: str, holder: Any, name: str, spent: dict[str, float]) -> Iterator[None]:
    honest = getattr(holder, name)

    def timed(*arguments: Any, **named: Any) -> Any:
        started = time.thread_time()
        try:
            return honest(*arguments, **named)
        finally:
            spent[part] += (time.thread_time() - started) * 1e3

    with patch.object(holder, name, timed):
        yield
