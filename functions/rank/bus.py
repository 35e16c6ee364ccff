"""Sends events to the stage's bus, several at a time."""

from collections.abc import Sequence
from typing import Any

from functions.rank.telemetry import logger
from leap_model.aws import Budget, client, code_of
from leap_model.events import MOST_BYTES, RANKING, SOURCE, calls, size_of

_BUDGET = Budget(connect_s=1.0, read_s=2.0, attempts=2)
"""Nobody waits for it, and a connection may have gone stale while the function was not running."""


class Bus:
    """An event bus by name.

    Parameters
    ----------
    name : str
        Its name or ARN.
    events : optional
        A boto3 client; by default one is made when something is first sent.
    """

    def __init__(self, name: str, events: Any = None) -> None:
        self._name = name
        self._events = events

    def send(self, details: Sequence[str]) -> int:
        """Send events, and give how many of them were not taken.

        Raises
        ------
        Exception
            There is no client to be had, such as without a region.
        """
        if self._events is None:
            self._events = client("events", _BUDGET)
        fit = [detail for detail in details if _size(detail) <= MOST_BYTES]
        return len(details) - len(fit) + sum(self._put(batch) for batch in calls(fit, _size))

    def _put(self, details: Sequence[str]) -> int:
        entries = [
            {
                "Source": SOURCE,
                "DetailType": RANKING,
                "EventBusName": self._name,
                "Detail": detail,
            }
            for detail in details
        ]
        try:
            failed = int(self._events.put_events(Entries=entries)["FailedEntryCount"])
        except Exception as fault:  # a call that fails says nothing of the next
            logger.warning("events not sent: %s", code_of(fault) or type(fault).__name__)
            return len(details)
        if failed:
            logger.warning("the bus did not take %d of %d events", failed, len(details))
        return failed


def _size(detail: str) -> int:
    return size_of(RANKING, detail)
