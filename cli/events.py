"""Attempts as events for EventBridge, or why none can carry them."""

import json
import math
from dataclasses import dataclass

from leap_model.events import ATTEMPT, MOST_BYTES, size_of
from leap_model.intake import Record


@dataclass(frozen=True, slots=True)
class Event:
    """One attempt as an event, and what a person finds it by."""

    name: str
    detail: str

    @property
    def size(self) -> int:
        """Bytes, as EventBridge counts them."""
        return size_of(ATTEMPT, self.detail)


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that is not on the bus."""

    name: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.code}" + (f", {self.message}" if self.message else "")


def event_of(name: str, record: Record) -> Event | Failure:
    """A record as an event, or why none can carry it.

    A throughput that is no finite number is sent as null, since JSON has no other way to say it.
    """
    if isinstance(record.fault, str):
        return Failure(name, "NotPublishable", f"it must be {record.fault}")
    value = record.value
    if not isinstance(value, dict):
        return Failure(name, "NotPublishable", "it must be one JSON object")
    identity = value.get("attempt_id")
    if isinstance(identity, str) and identity.isprintable():
        name = f"{name} ({identity[:80]})"
    throughput = value.get("throughput")
    if isinstance(throughput, float) and not math.isfinite(throughput):
        value = value | {"throughput": None}
    try:
        event = Event(name, json.dumps(value, allow_nan=False, separators=(",", ":")))
    except (ValueError, TypeError):
        return Failure(name, "NotPublishable", "an event has no NaN and no infinity")
    if event.size > MOST_BYTES:
        size = f"an event has at most {MOST_BYTES:,} bytes, this one {event.size:,}"
        return Failure(name, "NotPublishable", size)
    return event
