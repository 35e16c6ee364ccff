"""A batch of messages into the store, and which of them have to come again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from functions.ingest.envelope import opened
from functions.ingest.message import Message
from functions.ingest.rankings import Ranking, parse_ranking, store_rankings
from leap_model.errors import FieldError
from leap_model.events import RANKING
from leap_model.intake import Counts, Record, Unstored, take_in, value_of
from leap_model.store import Store


@dataclass(slots=True)
class Outcome:
    """What became of a batch. `lag_s` is how long its oldest message was under way, in seconds."""

    messages: int
    lag_s: float
    counts: Counts = field(default_factory=Counts)
    rankings: int = 0
    unstored: list[Unstored] = field(default_factory=list)

    def failed(self) -> list[str]:
        """Ids of the messages whose records are not in the store, each once."""
        return list(dict.fromkeys(origin for part in self.unstored for origin in part.origins))


def take_batch(store: Store, messages: Sequence[Message], now: int) -> Outcome:
    """Store what the messages carry: attempts, rankings, and as rejected what is neither.

    Nothing is read: each partition is one conditional write, named by its content. A partition
    that cannot be written fails its own messages and no others.

    Parameters
    ----------
    store : Store
        Where it all goes.
    messages : sequence of Message
        In any order, any of them delivered before.
    now : int
        The current time, in microseconds.
    """
    oldest = min((message.arrived(now) for message in messages), default=now)
    outcome = Outcome(len(messages), max(now - oldest, 0) / 1e6)
    rankings: list[tuple[Ranking, str]] = []

    def records() -> Iterator[Record]:
        for message in messages:
            record, ranking = _read(message, now)
            if ranking is None:
                yield record
            else:
                rankings.append((ranking, record.origin))

    take_in(store, records(), outcome.counts, now, look_up=False, unstored=outcome.unstored)
    outcome.rankings = store_rankings(store, rankings, outcome.unstored)
    return outcome


def _read(message: Message, now: int) -> tuple[Record, Ranking | None]:
    """A message's record, which says what is wrong with it, and the ranking if it is one.

    The record's body is the whole message, so that a rejected line can be sent again.
    """
    body, arrived = message.body, message.arrived(now)
    value, rule = value_of(body)
    fault: str | FieldError | None = rule
    detail = None
    if fault is None:
        try:
            detail_type, detail = opened(value)
            if detail_type == RANKING:
                ranking = parse_ranking(detail, arrived)
                return Record(body, origin=message.id, received_at=arrived), ranking
        except FieldError as broken:
            fault = broken
    return Record(body, detail, fault, message.id, arrived), None
