"""An S3 store that stops in time to say what it did not write."""

import time
from collections.abc import Callable

from leap_model.aws import Budget
from leap_model.errors import StoreError
from leap_model.s3 import S3Store

BUDGET = Budget(connect_s=1.0, read_s=4.0, attempts=3)
"""Of one write: at worst 15 s and the pauses between the attempts."""
SHARE = 2 / 3
"""Of an invocation's time: later no write begins, so that the last one ends within the rest.

A function that is cut off reports nothing, and even what it stored comes again.
"""


class TimedStore(S3Store):
    """Writes until its time is over; from then on every write fails at once."""

    _until = float("inf")
    clock: Callable[[], float] = staticmethod(time.monotonic)

    def allow(self, seconds: float) -> None:
        """Begin anew, with the time that an invocation has left."""
        self._until = self.clock() + seconds * SHARE

    def create(self, key: str, content: bytes) -> bool:
        if self.clock() > self._until:
            raise StoreError(f"{key[:80]} was not tried: no time is left")
        return super().create(key, content)
