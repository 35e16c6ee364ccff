"""Events on a stage's bus: what they are called, and what one call of PutEvents can carry."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

SOURCE: Final = "leap.launcher"
ATTEMPT: Final = "Training Attempt Completed"
RANKING: Final = "Ranking Served"
MOST_EVENTS: Final = 10
"""Of one call, by EventBridge's rule."""
MOST_BYTES: Final = 1_000_000
"""Of one event and of one call, as EventBridge counts them. It and SQS take 1 MiB since January
2026; the rest is for the envelope, which EventBridge adds and SQS counts."""

T = TypeVar("T")


def size_of(detail_type: str, detail: str) -> int:
    """Bytes of an event, as EventBridge counts them."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (SOURCE, detail_type, detail))


def calls(events: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Events by the call, each bounded in number and in bytes; `size` gives those of one event."""
    batch: list[T] = []
    total = 0
    for event in events:
        if batch and (len(batch) == MOST_EVENTS or total + size(event) > MOST_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(event)
        total += size(event)
    if batch:
        yield batch
