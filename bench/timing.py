"""Times a call often enough to state a median and a tail."""

import time
from collections.abc import Callable, Sequence

import numpy as np


def milliseconds(call: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 99th percentile of `times` calls, after one that warms up."""
    call()
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1e3)
    return float(np.median(spent)), float(np.percentile(spent, 99))


def processor_milliseconds(calls: Sequence[Callable[[], object]]) -> tuple[float, float]:
    """Median and 99th percentile of the processor time of different calls, each made once after
    one of them that warms up."""
    calls[0]()
    spent = []
    for call in calls:
        started = time.thread_time()
        call()
        spent.append((time.thread_time() - started) * 1e3)
    return float(np.median(spent)), float(np.percentile(spent, 99))
