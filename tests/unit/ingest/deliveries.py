"""Messages as the queue delivers them, and stores that keep or fail what they are told to."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from functions.ingest.message import Message
from leap_model.errors import StoreError
from leap_model.events import ATTEMPT, RANKING, SOURCE
from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore, checked_key
from leap_model.table import SCHEMA
from leap_model.times import parse_time

NOW = parse_time("2026-01-02T09:00:00Z")
EVENTS = Path(__file__).parents[2] / "events"


def captured(name: str) -> Any:
    """An event of tests/events/."""
    return json.loads((EVENTS / f"{name}.json").read_text())


def envelope(detail: Any, detail_type: Any = ATTEMPT, **fields: Any) -> str:
    """The body of a message that the rule sent."""
    event = {
        "version": "0",
        "id": "8a1b2c3d-0000-4000-8000-000000000001",
        "detail-type": detail_type,
        "source": SOURCE,
        "account": "123456789012",
        "time": "2026-01-02T08:59:03Z",
        "region": "eu-west-1",
        "resources": [],
        "detail": detail,
    }
    return json.dumps(event | fields)


def sent(body: str, id_: str = "m1", at: int | None = NOW) -> Message:
    """One message."""
    return Message(id_, body.encode("utf-8", "surrogatepass"), at)


def attempts(*entries: dict[str, Any]) -> list[Message]:
    """A message an attempt, m1, m2 and so on."""
    return [sent(envelope(entry), f"m{at}") for at, entry in enumerate(entries, 1)]


def delivery(bodies: Iterable[tuple[str, str]], sent_at: int = NOW) -> dict[str, Any]:
    """A Lambda event of (message id, body)."""
    return {
        "Records": [
            {
                "messageId": id_,
                "receiptHandle": f"AQEB{id_}",
                "body": body,
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": str(sent_at // 1000),
                    "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                    "ApproximateFirstReceiveTimestamp": str(sent_at // 1000 + 12),
                },
                "messageAttributes": {},
                "md5OfBody": hashlib.md5(body.encode("utf-8", "surrogatepass")).hexdigest(),
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:leap-test-attempts",
                "awsRegion": "eu-west-1",
            }
            for id_, body in bodies
        ]
    }


def ranking(**values: Any) -> dict[str, Any]:
    """The detail of a served ranking."""
    return {
        "ranking_id": "r-1",
        "served_at": "2026-01-02T07:00:00Z",
        "model_version": "v1",
        "request": {"job": {"job_name": "a"}, "candidates": ["fast-8"]},
        "answer": {"preference": [], "reason": "all_excluded"},
        "features": {"columns": ["a", "b"], "ids": ["x", "y"], "rows": [[1.0, None], [2.5, 3]]},
        **values,
    }


def rankings(*entries: dict[str, Any]) -> list[Message]:
    """A message a ranking, r1, r2 and so on."""
    return [sent(envelope(entry, RANKING), f"r{at}") for at, entry in enumerate(entries, 1)]


class MemoryStore(LocalStore):
    """A store in memory. A write that `fails` says so, and writes nothing."""

    def __init__(self, fails: Callable[[str], bool] = lambda key: False) -> None:
        super().__init__("/nowhere")
        self.objects: dict[str, bytes] = {}
        self.fails = fails
        self.writes: list[str] = []

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(f"{prefix}/"))

    def size(self, key: str) -> int | None:
        content = self.objects.get(key)
        return None if content is None else len(content)

    def read(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def expire(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)

    def create(self, key: str, content: bytes) -> bool:
        self.writes.append(checked_key(key))
        if self.fails(key):
            raise StoreError(f"{key} cannot be written: SlowDown")
        if key in self.objects:
            return False
        self.objects[key] = content
        return True


def rows(store: LocalStore) -> pa.Table:
    """Every row of every attempt file, as it lies there; every one is readable."""
    read = read_days(store, partition_days(store).items(), SCHEMA.names)
    assert not read.skipped
    return read.table


def ids(store: LocalStore) -> list[str]:
    """Ids of the attempts that a reader gets."""
    found: list[str] = distinct(rows(store))["attempt_id"].to_pylist()
    return found


def days(store: LocalStore, kind: str = "attempts") -> list[str]:
    """The days that have objects of a kind."""
    return sorted({key.split("/")[1].removeprefix("dt=") for key in store.keys(kind)})


def rejected(store: LocalStore) -> list[dict[str, Any]]:
    """Every line of rejected/."""
    contents = [store.read(key) or b"" for key in store.keys("rejected")]
    return [json.loads(line) for content in contents for line in content.splitlines()]


def served(store: LocalStore) -> list[dict[str, Any]]:
    """Every row of rankings/."""
    contents = [store.read(key) for key in store.keys("rankings")]
    tables = [pq.read_table(pa.BufferReader(content)) for content in contents]
    return [row for table in tables for row in table.to_pylist()]
