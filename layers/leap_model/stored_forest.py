"""A forest in a file: opened, digested and checked when a row first needs it."""

import threading
import time
from collections.abc import Callable
from typing import Any

from leap_model import limits
from leap_model.columns import Floats
from leap_model.errors import ArtifactError
from leap_model.trees import Forest, open_forest


class StoredForest:
    """Scores as `Forest` does.

    Parameters
    ----------
    n_inputs, n_outputs : int
        What the file must turn out to have.
    content : callable
        Gives the file's bytes, digested.
    """

    def __init__(self, n_inputs: int, n_outputs: int, content: Callable[[], Any]) -> None:
        self.n_inputs = n_inputs
        self.n_outputs = n_outputs
        self._content = content
        self._lock = threading.Lock()
        self._forest: Forest | None = None
        self._failed: tuple[float, str] | None = None

    def opened(self) -> Forest:
        """The forest.

        Raises
        ------
        ArtifactError
            The file was altered, or is no such forest; or it was, less than a minute ago.
        """
        forest = self._forest
        if forest is not None:
            return forest
        with self._lock:
            if self._forest is None:
                self._recall_failure()
                try:
                    self._forest = self._open()
                except ArtifactError as fault:
                    self._failed = time.monotonic(), str(fault)
                    raise
            return self._forest

    def _recall_failure(self) -> None:
        """A file that was found altered is digested again no more often than a pointer is read: a
        launch gets its answer at once."""
        if self._failed is not None and time.monotonic() - self._failed[0] < limits.POINTER_CACHE_S:
            raise ArtifactError(self._failed[1])

    def _open(self) -> Forest:
        forest = open_forest(self._content())
        if (forest.n_inputs, forest.n_outputs) != (self.n_inputs, self.n_outputs):
            raise ArtifactError("a forest has not the columns that the model says it has")
        return forest

    def score(self, matrix: Floats) -> Floats:
        """(n, n_outputs) scores of an (n, n_inputs) matrix."""
        return self.opened().score(matrix)

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return self.opened().to_bytes()
