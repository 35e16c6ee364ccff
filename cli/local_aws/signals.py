"""Being told to end is an exception, so that what was started is ended on the way out."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C is one by itself."""


@contextmanager
def unwinding() -> Iterator[None]:
    """While the block runs, SIGTERM and a closed terminal leave it as SystemExit."""
    before = {number: signal.signal(number, _leave) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
