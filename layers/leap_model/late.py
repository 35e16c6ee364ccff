"""What an artifact holds, opened, digested and checked when something first needs it."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from leap_model import limits
from leap_model.errors import ArtifactError

T = TypeVar("T")


class Late(Generic[T]):
    """One thing that `make` gives, made once, by whichever thread is first."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None
        self._failed: tuple[float, str] | None = None

    def opened(self) -> T:
        """The thing.

        Raises
        ------
        ArtifactError
            A file was altered, or holds no such thing; or did, less than a minute ago.
        """
        made = self._made
        if made is not None:
            return made
        with self._lock:
            if self._made is None:
                self._recall_failure()
                try:
                    self._made = self._make()
                except Exception as fault:  # whatever a reader makes of broken bytes
                    known = isinstance(fault, ArtifactError)
                    told = str(fault) if known else f"the artifact is malformed: {fault!r}"
                    self._failed = time.monotonic(), told
                    raise ArtifactError(told) from None
            return self._made

    def _recall_failure(self) -> None:
        """A file that was found altered is digested again no more often than a pointer is read: a
        launch gets its answer at once."""
        if self._failed is not None and time.monotonic() - self._failed[0] < limits.POINTER_CACHE_S:
            raise ArtifactError(self._failed[1])
