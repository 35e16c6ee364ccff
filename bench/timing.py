"""Times a call often enough to state a median and a tail."""

import time
from collections.abc import Callable, Mapping, Sequence

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


def alternating_milliseconds(
    contestants: Mapping[str, Sequence[Callable[[], object]]], turn: int = 25
) -> dict[str, tuple[float, float]]:
    """Median and 99th percentile of the processor time of each one's calls, each made once.

    They take turns of so many calls, so that whatever else the machine does meets all of them. Time
    is the whole process's: a thread that a contestant keeps counts.
    """
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    for calls in contestants.values():
        calls[0]()
    for first in range(0, max(map(len, contestants.values())), turn):
        for name, calls in contestants.items():
            for call in calls[first : first + turn]:
                started = time.process_time()
                call()
                spent[name].append((time.process_time() - started) * 1e3)
    return {
        name: (float(np.median(times)), float(np.percentile(times, 99)))
        for name, times in spent.items()
    }
