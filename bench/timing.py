"""Times a call often enough to state a median and a tail."""

import time
from collections.abc import Callable

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
