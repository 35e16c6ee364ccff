"""Ends waiting in time: a stalled store must cost an answer, not a time-out of the function."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

MARGIN_S = 0.5
"""What is kept of the function's time to put an answer together."""

T = TypeVar("T")


def seconds_left(context: Any) -> float | None:
    """Seconds that an invocation may still wait; None where its context sets no limit."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return None if remaining is None else max(remaining() / 1000.0 - MARGIN_S, 0.0)


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """What the call gives, waiting at most so long.

    A call that takes longer goes on in its own thread: what it loads serves later rankings.

    Raises
    ------
    TimeoutError
        It is not done yet.
    Exception
        Whatever the call raises.
    """
    if seconds is None:
        return call()
    given: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(call())
        except BaseException as fault:  # another thread's fault to deal with
            raised.append(fault)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    if raised:
        raise raised[0]
    if not given:
        raise TimeoutError
    return given[0]
