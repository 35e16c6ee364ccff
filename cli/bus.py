"""Puts attempts on an event bus, and answers for every single one."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from cli.events import Event, Failure, event_of
from leap_model.aws import client, code_of
from leap_model.errors import LeapError
from leap_model.events import ATTEMPT, SOURCE, calls
from leap_model.intake import Record

_TRIES: Final = 5
_FIRST_PAUSE_S: Final = 0.2
_PASSING: Final = {"InternalFailure", "InternalException", "ThrottlingException"}
"""EventBridge's codes of entries that may be taken the next time."""


class PublishError(LeapError):
    """Publishing cannot go on, or cannot begin."""


@dataclass(slots=True)
class Published:
    """What became of the records."""

    read: int = 0
    sent: int = 0
    failures: list[Failure] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The document that `leap publish --json` prints."""
        failures = [
            {"record": failure.name, "code": failure.code, "message": failure.message}
            for failure in self.failures
        ]
        return {
            "read": self.read,
            "sent": self.sent,
            "failed": len(self.failures),
            "failures": failures,
        }


class Bus:
    """An event bus that attempts are put on.

    Parameters
    ----------
    name : str
        Its name or ARN.
    events : optional
        A boto3 client; by default one with the library's time budget.
    pause : callable
        Waits a number of seconds before what was refused is sent again.
    """

    def __init__(
        self, name: str, events: Any = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._name = name
        self._pause = pause
        self._events = events
        if events is None:
            with _speaking(f"the bus {name} cannot be reached"):
                self._events = client("events")

    def must_exist(self) -> None:
        """Nothing, if the bus is there or this caller may not know.

        EventBridge takes events for a bus that is not there, and drops them.

        Raises
        ------
        PublishError
            There is no such bus, or AWS did not answer.
        """
        try:
            self._events.describe_event_bus(Name=self._name)
        except Exception as fault:
            code = code_of(fault)
            if code == "ResourceNotFoundException":
                raise PublishError(f"there is no event bus {self._name} in this region") from None
            if code != "AccessDeniedException":
                why = code or type(fault).__name__
                raise PublishError(f"the bus {self._name} cannot be reached: {why}") from None

    def publish(
        self,
        records: Iterable[tuple[str, Record]],
        published: Published,
        advance: Callable[[int], None] = lambda steps: None,
    ) -> None:
        """Put records on the bus, adding to what was published.

        What the bus refuses for the moment is sent again, by itself; what it refuses for good, or
        again and again, is a failure, and so is a record that no event can carry.

        Parameters
        ----------
        records : iterable of (str, Record)
            What a person finds it by, and the record.
        published : Published
            Added to.
        advance : callable, optional
            Told the number of records that are dealt with.

        Raises
        ------
        PublishError
            A whole call failed; what came before it stands.
        """
        events = _events_of(records, published, advance)
        for batch in calls(events, lambda event: event.size):
            self._send(batch, published)
            advance(len(batch))

    def _send(self, batch: Sequence[Event], published: Published) -> None:
        waiting = list(batch)
        for tried in count(1):
            refused = self._put(waiting, published)
            published.sent += len(waiting) - len(refused)
            last = tried == _TRIES
            published.failures.extend(
                Failure(event.name, code, message)
                for event, code, message in refused
                if last or code not in _PASSING
            )
            waiting = [event for event, code, _ in refused if code in _PASSING and not last]
            if not waiting:
                return
            self._pause(_FIRST_PAUSE_S * 2 ** (tried - 1))

    def _put(self, batch: Sequence[Event], published: Published) -> list[tuple[Event, str, str]]:
        """One call; the events that were refused, each with code and message."""
        entries = [
            {
                "Source": SOURCE,
                "DetailType": ATTEMPT,
                "Detail": event.detail,
                "EventBusName": self._name,
            }
            for event in batch
        ]
        with _speaking(f"sent {published.sent:,}; the call that began with {batch[0].name} failed"):
            answer = self._events.put_events(Entries=entries)
        results = answer["Entries"]
        # FailedEntryCount says that there are any; the entries, in the order sent, say which.
        refused = [
            (event, str(result["ErrorCode"]), str(result.get("ErrorMessage", "")))
            for event, result in zip(batch, results, strict=True)
            if "ErrorCode" in result
        ]
        if len(refused) != answer["FailedEntryCount"]:
            raise PublishError(
                f"the bus says that it refused {answer['FailedEntryCount']} of {len(batch)} "
                f"events, and names {len(refused)}; the first of them is {batch[0].name}"
            )
        return refused


def _events_of(
    records: Iterable[tuple[str, Record]], published: Published, advance: Callable[[int], None]
) -> Iterator[Event]:
    for name, record in records:
        published.read += 1
        event = event_of(name, record)
        if isinstance(event, Failure):
            published.failures.append(event)
            advance(1)
        else:
            yield event


@contextmanager
def _speaking(what: str) -> Iterator[None]:
    """Whatever a call fails with, as one line."""
    try:
        yield
    except Exception as fault:
        raise PublishError(f"{what}: {code_of(fault) or type(fault).__name__}") from None
