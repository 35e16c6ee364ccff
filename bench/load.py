"""Load: rankings one after the other for a minute, by the deployed function and in process."""

import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.memory import Looking
from bench.runtime_api import function, resident_mb, runtime_api
from bench.stages import Stage, deployed
from cli.local_aws.paths import INTERPRETER
from functions.retrain.learning.presets import DEFAULT
from leap_model import Ranker

COLUMNS = (
    *("by", "what ranks", "a second", "p50 ms", "p99 ms", "errors"),
    *("MB after 1/6", "MB at the end"),
)
LOAD_S: Final = float(os.environ.get("LEAP_LOAD_S", "60"))
_THREADS: Final = (1, 4)


def run() -> list[tuple[object, ...]]:
    """By each estimator that a night tries, `LEAP_LOAD_S` seconds (60) each: the function by
    awslambdaric, asked by this process; then a ranker in a process of its own, asked by one thread
    and by four."""
    if not INTERPRETER.exists():
        return []
    return [row for name in DEFAULT for row in _rows(name)]


def _rows(estimator: str) -> Iterator[tuple[object, ...]]:
    with deployed(estimator) as stage:
        yield estimator, "rank function, one caller", *_of_function(stage)
        for threads in _THREADS:
            callers = "one thread" if threads == 1 else f"{threads} threads"
            yield estimator, f"Ranker in process, {callers}", *_of_ranker(stage, threads)


def _of_function(stage: Stage) -> tuple[object, ...]:
    """A function is given one event at a time, as Lambda does: more callers get more of them."""
    log = stage.folder / "function.log"
    with tempfile.TemporaryDirectory(prefix="leap-bench-load-") as name, runtime_api() as api:
        handler = "functions.rank.handler.handler"
        with function(api, handler, [stage.bundle], stage.environment, Path(name), log) as process:
            api.invoke(stage.event)

            def rank() -> bool:
                return bool(json.loads(api.invoke(stage.event)[0]["body"])["preference"])

            with Looking(partial(resident_mb, process.pid)) as looking:
                return _figures([_called(rank)], looking)


def _of_ranker(stage: Stage, threads: int) -> tuple[object, ...]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(
        target=_rank_in_process, args=(str(stage.store.root), dict(stage.request), threads, theirs)
    )
    process.start()
    mine.recv()  # it has loaded its model
    with Looking(partial(resident_mb, process.pid or 0)) as looking:
        spent = mine.recv()
        figures = _figures(spent, looking)
    process.join()
    return figures


def _rank_in_process(
    root: str, request: Mapping[str, Any], threads: int, to: "Connection[Any, Any]"
) -> None:
    ranker = Ranker.from_store(root)

    def rank() -> bool:
        return bool(ranker.rank(request)["preference"])

    rank()
    to.send("ready")
    done: list[tuple[list[float], int]] = []
    callers = [threading.Thread(target=lambda: done.append(_called(rank))) for _ in range(threads)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    to.send(done)
    to.close()


def _called(rank: Callable[[], bool]) -> tuple[list[float], int]:
    """Milliseconds of each call until the time is over, and how many gave no preference."""
    spent, errors = [], 0
    until = time.monotonic() + LOAD_S
    while (started := time.perf_counter()) and time.monotonic() < until:
        errors += not rank()
        spent.append((time.perf_counter() - started) * 1e3)
    return spent, errors


def _figures(callers: list[tuple[list[float], int]], looking: Looking) -> tuple[object, ...]:
    spent = np.concatenate([np.array(times) for times, _ in callers])
    looks = looking.megabytes
    return (
        f"{len(spent) / LOAD_S:,.0f}",
        *(f"{value:.2f}" for value in np.percentile(spent, [50, 99])),
        sum(errors for _, errors in callers),
        f"{looks[len(looks) // 6]:.1f}",
        f"{looks[-1]:.1f}",
    )
