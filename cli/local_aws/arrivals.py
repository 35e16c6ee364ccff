"""Waits for attempts to arrive in a store, the way anyone can see them: as Parquet objects."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import pyarrow.parquet as pq

from cli.local_aws.errors import LocalAwsError
from leap_model.store import Store

_LOOK_S: Final = 0.5
_SILENT_S: Final = 60.0
"""Without anything new for so long, what is missing will not come."""


@dataclass(slots=True)
class Arrived:
    """Rows of each object seen so far. Objects are never changed, so each is read once."""

    rows: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Attempts that are in the store."""
        return sum(self.rows.values())

    @property
    def days(self) -> int:
        """Days that have some."""
        return len({key.split("/")[1] for key in self.rows})


def wait_for(
    store: Store, attempts: int, advance: Callable[[int], None] = lambda steps: None
) -> Arrived:
    """Wait until a store has so many attempts.

    Raises
    ------
    LocalAwsError
        Nothing more came for a minute.
    """
    arrived = Arrived()
    since = time.monotonic()
    while arrived.total < attempts:
        before = arrived.total
        for key in store.keys("attempts"):
            if key not in arrived.rows:
                content = store.read(key) or b""
                arrived.rows[key] = pq.read_metadata(io.BytesIO(content)).num_rows
        advance(arrived.total - before)
        now = time.monotonic()
        if arrived.total > before:
            since = now
        elif now - since > _SILENT_S:
            raise LocalAwsError(
                f"{arrived.total:,} of {attempts:,} attempts arrived, and no more for "
                f"{_SILENT_S:g} s; rejected lines: {len(store.keys('rejected')):,} objects"
            )
        else:
            time.sleep(_LOOK_S)
    return arrived
