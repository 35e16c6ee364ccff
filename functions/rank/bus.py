"""Sends events to the stage's bus, several at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from functions.rank.telemetry import logger
from leap_model.aws import Budget, client, code_of

_BUDGET = Budget(connect_s=1.0, read_s=2.0, attempts=2)
"""Nobody waits for it, and a connection may have gone stale while the function was not running."""
_SOURCE = "leap.launcher"
_DETAIL_TYPE = "Ranking Served"
_ENTRIES = 10
"""What one PutEvents call takes."""
MOST_BYTES = 1_000_000
"""Of one event, and of one call. EventBridge and SQS take 1 MiB; the rest is for the envelope that
is put around what is sent."""


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
        return len(details) - len(fit) + sum(self._put(batch) for batch in _batches(fit))

    def _put(self, details: Sequence[str]) -> int:
        entries = [
            {
                "Source": _SOURCE,
                "DetailType": _DETAIL_TYPE,
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
    return len(_SOURCE) + len(_DETAIL_TYPE) + len(detail.encode("utf-8", "surrogatepass"))


def _batches(details: Sequence[str]) -> Iterator[list[str]]:
    """The events in as few calls as the limits allow."""
    batch: list[str] = []
    size = 0
    for detail in details:
        if batch and (len(batch) == _ENTRIES or size + _size(detail) > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(detail)
        size += _size(detail)
    if batch:
        yield batch
