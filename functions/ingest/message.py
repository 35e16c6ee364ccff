"""What the queue hands over: messages, as Lambda puts them into an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from leap_model.errors import LeapError
from leap_model.limits import DAY_US

_LONGEST_KEPT_US: Final = 14 * DAY_US
"""SQS drops a message at that age: an older stamp is in another unit, or of another clock."""
_CLOCKS_DIFFER_US: Final = 60 * 1_000_000


class NoMessagesError(LeapError):
    """The event is none of a queue: something else than the queue invoked the function."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: what SQS calls it, its body in UTF-8, and when it was sent, in microseconds."""

    id: str
    body: bytes
    sent_at: int | None

    def arrived(self, now: int) -> int:
        """When it came into the queue: the same for every delivery. `now` where that is unknown.

        So a record has one arrival day, and one answer to "is this time in the future?", however
        often and late it is tried.
        """
        if self.sent_at is None or not -_CLOCKS_DIFFER_US <= now - self.sent_at <= _LONGEST_KEPT_US:
            return now
        return self.sent_at


def messages_of(event: Any) -> list[Message]:
    """The messages of a Lambda event, in its order.

    Raises
    ------
    NoMessagesError
        It is not an event that SQS causes.
    """
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list):
        raise NoMessagesError("the event has no Records: invoke this function through its queue")
    try:
        return [_message(record) for record in records]
    except (KeyError, TypeError, AttributeError):
        raise NoMessagesError("a record of the event has no messageId and body") from None


def _message(record: Any) -> Message:
    # Half a surrogate pair cannot be UTF-8: its bytes are kept, and found wanting like any others.
    body = record["body"].encode("utf-8", "surrogatepass")
    return Message(str(record["messageId"]), body, _sent_at(record.get("attributes")))


def _sent_at(attributes: Any) -> int | None:
    stamp = attributes.get("SentTimestamp") if isinstance(attributes, Mapping) else None
    try:
        return None if stamp is None else int(stamp) * 1000
    except (ValueError, TypeError):
        return None
