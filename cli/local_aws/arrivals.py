"""Waits for attempts to arrive in a store, the way anyone can see them: as Parquet objects."""

import io
import time
from collections.abc import Callable
from typing import Final

import pyarrow.parquet as pq

from cli.local_aws.errors import LocalAwsError
from leap_model.store import Store

_LOOK_S: Final = 0.5
_SILENT_S: Final = 60.0
"""Without anything new for so long, what is missing will not come."""


class Arrivals:
    """The attempts in a store, as rows of its objects: an attempt in two objects is two rows.

    Attributes
    ----------
    rows : dict
        Rows of each object seen so far. Objects are never changed, so each is read once.
    """

    def __init__(self, store: Store) -> None:
        self.rows: dict[str, int] = {}
        self._store = store

    @property
    def total(self) -> int:
        """Rows seen so far."""
        return sum(self.rows.values())

    @property
    def days(self) -> int:
        """Days that have some."""
        return len({key.split("/")[1] for key in self.rows})

    def look(self) -> int:
        """See what is there; how many rows are new."""
        before = self.total
        for key in self._store.keys("attempts"):
            if key not in self.rows:
                content = self._store.read(key) or b""
                self.rows[key] = pq.read_metadata(io.BytesIO(content)).num_rows
        return self.total - before

    def wait(self, rows: int, advance: Callable[[int], None] = lambda steps: None) -> None:
        """Wait until so many rows are there.

        Parameters
        ----------
        rows : int
            Of the whole store.
        advance : callable, optional
            Told how many are new, each time that some are.

        Raises
        ------
        LocalAwsError
            Nothing more came for a minute.
        """
        since = time.monotonic()
        while self.total < rows:
            new = self.look()
            if new:
                advance(new)
                since = time.monotonic()
            elif time.monotonic() - since > _SILENT_S:
                raise LocalAwsError(
                    f"{self.total:,} of {rows:,} attempts arrived, and no more for {_SILENT_S:g} s"
                )
            else:
                time.sleep(_LOOK_S)
