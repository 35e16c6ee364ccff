"""The function's ranker, made when it is first needed: importing the handler fetches nothing."""

import threading
import time
from collections.abc import Callable

from functions.rank.telemetry import logger
from leap_model import Ranker
from leap_model.errors import LeapError, ModelUnavailableError
from leap_model.source import Serving


class Loading:
    """Gives a ranker, whatever happens.

    Where `make` fails, the ranker knows requests from what is none, and has no model; the next
    attempt is `retry_s` seconds later.
    """

    def __init__(
        self,
        make: Callable[[], Ranker],
        retry_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._retry_s = retry_s
        self._clock = clock
        self._lock = threading.Lock()
        self._ranker: Ranker | None = None
        self._instead: tuple[float, Ranker] | None = None
        self._failures = 0

    @property
    def failures(self) -> int:
        """How often no ranker could be made, and no model be loaded, so far."""
        return self._failures + (self._ranker.load_failures if self._ranker else 0)

    @property
    def serving(self) -> Serving | None:
        """What the latest ranking that came to a model was made with."""
        return self._ranker.serving if self._ranker else None

    def ranker(self) -> Ranker:
        """The ranker, or one that has no model."""
        with self._lock:
            if self._ranker is not None:
                return self._ranker
            now = self._clock()
            if self._instead is not None and now - self._instead[0] < self._retry_s:
                return self._instead[1]
            try:
                self._ranker = self._make()
                return self._ranker
            except Exception as fault:
                self._failures += 1
                # Text of our own errors only: others may quote anything.
                why = str(fault) if isinstance(fault, LeapError) else type(fault).__name__
                logger.error("no ranker: %s", why)
                self._instead = (now, Ranker(_Nothing(f"no ranker: {why}")))
                return self._instead[1]


class _Nothing:
    """A source without a model, and why."""

    failures = 0

    def __init__(self, why: str) -> None:
        self._why = why

    def current(self) -> Serving:
        raise ModelUnavailableError(self._why)
