"""Attempts as Parquet: the one schema, and how a batch becomes objects of the store."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import accumulate, chain, groupby
from operator import attrgetter

import pyarrow as pa
import pyarrow.parquet as pq

from leap_model.attempt import SCHEMA_VERSION, Attempt
from leap_model.limits import DAY_US
from leap_model.store import Store
from leap_model.times import day_of

_TIME = pa.timestamp("us", tz="UTC")
_MERGED = "merged-"
_SOURCES = b"leap.sources"
_APPENDED = re.compile(r"[0-9a-f]{32}\.parquet")
_FEW = 100
"""Rows."""

SCHEMA = pa.schema(
    [
        pa.field("attempt_id", pa.string(), nullable=False),
        pa.field("job_name", pa.string(), nullable=False),
        pa.field("job_family", pa.string()),
        pa.field("model_type", pa.string(), nullable=False),
        pa.field("hardware_type", pa.string(), nullable=False),
        pa.field("num_trainers", pa.int64(), nullable=False),
        pa.field("accelerators_per_host", pa.float64()),
        pa.field("batch_size", pa.float64(), nullable=False),
        pa.field("launched_at", _TIME),
        pa.field("completed_at", _TIME, nullable=False),
        pa.field("throughput", pa.float64()),
        pa.field("config", pa.string(), nullable=False),
        pa.field("allocation", pa.string(), nullable=False),
        pa.field("architecture", pa.map_(pa.string(), pa.float64()), nullable=False),
        pa.field("duration_s", pa.float64()),
        pa.field("cost_usd", pa.float64()),
        pa.field("utilization", pa.float64()),
        pa.field("ranking", pa.string()),
        pa.field("record_sha256", pa.string()),
        pa.field("schema_version", pa.int32()),
        pa.field("ingested_at", _TIME),
    ]
)
"""Columns of every attempt file. Nothing is inferred from data: a day of nulls keeps its types."""


def table_of(attempts: Iterable[Attempt], ingested_at: int) -> pa.Table:
    """A table of attempts, in their order."""
    rows = list(attempts)
    told = dict(zip(Attempt._fields, zip(*rows, strict=True), strict=bool(rows)))
    told["schema_version"] = (SCHEMA_VERSION,) * len(rows)
    told["ingested_at"] = (ingested_at,) * len(rows)
    columns = [
        _architecture(rows, field.type)
        if field.name == "architecture"
        else pa.array(told.get(field.name, ()), field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def by_day(attempts: Iterable[Attempt]) -> Iterator[tuple[date, list[Attempt]]]:
    """The attempts of each UTC day of completion, in one order whatever order they came in."""
    ordered = sorted(attempts, key=attrgetter("attempt_id", "record_sha256"))
    ordered.sort(key=_day_number)
    for _, group in groupby(ordered, key=_day_number):
        together = list(group)
        yield day_of(together[0].completed_at), together


def write_day(store: Store, day: date, batch: Sequence[Attempt], ingested_at: int) -> bool:
    """Append attempts to a day as one object; False where that object is there already.

    Its key is derived from the records, so that the same batch written again writes nothing.
    """
    sink = pa.BufferOutputStream()
    # Of a few rows dictionaries, statistics and zstd cost more to read than they save.
    few = {"compression": "snappy", "use_dictionary": False, "write_statistics": False}
    options = few if len(batch) < _FEW else {"compression": "zstd"}
    pq.write_table(table_of(batch, ingested_at), sink, **options)
    key = f"{partition(day)}/{_batch_digest(batch)}.parquet"
    return store.create(key, sink.getvalue().to_pybytes())


def write_merged(store: Store, day: date, table: pa.Table, sources: Sequence[str]) -> bool:
    """Write the rows of some of a day's objects as one, which says in its metadata what their names
    were; False where it is there already. Its key is derived from the names."""
    told = {**(table.schema.metadata or {}), _SOURCES: json.dumps(sorted(sources)).encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(told), sink, compression="zstd")
    digest = hashlib.sha256("\n".join(sorted(sources)).encode()).hexdigest()[:32]
    key = f"{partition(day)}/{_MERGED}{digest}.parquet"
    return store.create(key, sink.getvalue().to_pybytes())


def is_merged(key: str) -> bool:
    """Whether a key is one of `write_merged`."""
    return name_of(key).startswith(_MERGED)


def is_appended(key: str) -> bool:
    """Whether a key is one of `write_day`."""
    return _APPENDED.fullmatch(name_of(key)) is not None


def sources_of(schema: pa.Schema) -> frozenset[str]:
    """The names of the objects whose rows one of this schema holds."""
    try:
        return frozenset(map(str, json.loads((schema.metadata or {}).get(_SOURCES, b"[]"))))
    except (ValueError, TypeError, RecursionError):
        return frozenset()  # whatever it is, it names nothing


def name_of(key: str) -> str:
    """What an object is called in its folder."""
    return key.rsplit("/", 1)[-1]


def partition(day: date) -> str:
    """The folder of a day's attempts."""
    return f"attempts/dt={day.isoformat()}"


def _batch_digest(batch: Iterable[Attempt]) -> str:
    digest = hashlib.sha256()
    for attempt in batch:
        digest.update(attempt.record_sha256.encode())
    return digest.hexdigest()[:32]


def _day_number(attempt: Attempt) -> int:
    return attempt.completed_at // DAY_US


def _architecture(attempts: Sequence[Attempt], kind: pa.MapType) -> pa.Array:
    """The maps of some attempts, each ordered by name."""
    names = [sorted(attempt.architecture) for attempt in attempts]
    values = [
        attempt.architecture[name]
        for attempt, own in zip(attempts, names, strict=True)
        for name in own
    ]
    starts = [0, *accumulate(map(len, names))]
    keys = pa.array(chain.from_iterable(names), kind.key_type, size=len(values))
    return pa.MapArray.from_arrays(starts, keys, pa.array(values, kind.item_type))
