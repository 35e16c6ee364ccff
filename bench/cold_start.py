"""Cold start: process start to first answer under awslambdaric, beside a bare handler's."""

import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.runtime_api import function, processor_seconds, runtime_api
from bench.stages import CHECKOUT, Stage, deployed
from cli.local_aws.paths import INTERPRETER
from functions.retrain.learning.presets import DEFAULT

COLUMNS = ("by", "figure", "median", "tenth", "ninetieth percentile")
STARTS: Final = int(os.environ.get("LEAP_BENCH_STARTS", "20"))
_RANK: Final = "functions.rank.handler.handler"
_BARE: Final = "bench.handlers.bare.handler"
_MARKED: Final = "bench.handlers.marked.handler"


def run() -> list[tuple[object, ...]]:
    """By each estimator that a night tries both handlers in turn, `LEAP_BENCH_STARTS` times (20),
    then what the time goes to."""
    if importlib.util.find_spec("awslambdaric") is None or not INTERPRETER.exists():
        return []
    return [(name, *row) for name in DEFAULT for row in _rows(name)]


def _rows(estimator: str) -> list[tuple[object, ...]]:
    with deployed(estimator) as stage:
        for handler in (_RANK, _BARE, _MARKED):  # what is read from disk the first time
            _start(stage, handler)
        pairs = [(_start(stage, _RANK), _start(stage, _BARE)) for _ in range(STARTS)]
        parts = [_start(stage, _MARKED)[2] for _ in range(STARTS)]
    ours, bare = np.array([[one[:2] for one in pair] for pair in pairs]).transpose(1, 2, 0)
    return [
        _row("rank function, ms", ours[0] * 1e3),
        _row("bare handler, ms", bare[0] * 1e3),
        _row("times the bare handler", ours[0] / bare[0], 2),
        _row("rank function, processor ms", ours[1] * 1e3),
        _row("bare handler, processor ms", bare[1] * 1e3),
        _row("times the bare handler, processor", ours[1] / bare[1], 2),
        *(
            _row(f"of which: {name}, ms", np.array([one[name] for one in parts]) * 1e3)
            for name in parts[0]
        ),
    ]


def _start(stage: Stage, handler: str) -> tuple[float, float, Mapping[str, float]]:
    """Seconds and processor seconds to the first answer of a new process, and its parts."""
    with (
        tempfile.TemporaryDirectory(prefix="leap-bench-start-") as name,
        runtime_api() as api,
    ):
        folder = Path(name)
        marks = folder / "marks.json"
        started = time.monotonic()
        variables = {
            **stage.environment,
            "LEAP_STARTED": str(started),
            "LEAP_MARKS": str(marks),
        }
        log = stage.folder / "function.log"
        code = [stage.bundle, CHECKOUT]
        with function(api, handler, code, variables, folder, log) as process:
            answer, answered = api.invoke(stage.event)
            spent = processor_seconds(process.pid)
        if handler != _BARE and not json.loads(answer["body"])["preference"]:
            raise RuntimeError(f"nothing was ranked: {answer['body']}")
        parts: dict[str, float] = json.loads(marks.read_text()) if marks.exists() else {}
    return answered - started, spent, parts


def _row(name: str, values: Any, digits: int = 0) -> tuple[object, ...]:
    return name, *(f"{value:.{digits}f}" for value in np.percentile(values, [50, 10, 90]))
