"""Times and weighs the stages of a run, and tells whoever watches."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stages:
    """Seconds by stage, in the order in which they ran; and the most memory that this process had
    held by the end of each, in megabytes: what earlier stages held counts."""

    def __init__(self, watch: Callable[[str], None] | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.memory_mb: dict[str, float] = {}
        self._watch = watch or (lambda stage: None)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Run a block as a stage."""
        self._watch(stage)
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[stage] = round(self.seconds.get(stage, 0.0) + spent, 3)
            self.memory_mb[stage] = peak_memory_mb()


def peak_memory_mb() -> float:
    """The most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
