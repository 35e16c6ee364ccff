"""Reads attempts back from their partitions: typed, each attempt once, bad objects set aside."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leap_model.errors import StoreError
from leap_model.store import Store
from leap_model.table import SCHEMA, is_merged, name_of, partition, sources_of

IDENTITY = ("attempt_id", "completed_at", "record_sha256")
"""What tells two records of one attempt apart."""

_REQUIRED = {field.name for field in SCHEMA if not field.nullable}
_SMALL = 2**20
_LISTINGS = 4
"""How often a day is listed before what is not there is taken for gone."""


@dataclass(frozen=True, slots=True)
class Read:
    """Rows, and the objects that could not be read and were left out."""

    table: pa.Table
    skipped: tuple[str, ...]
    holes: tuple[str, ...]
    """One sentence for each day that is mostly unreadable."""

    def whole(self) -> "Read":
        """This, if no day is mostly unreadable.

        Raises
        ------
        StoreError
            Going on would train on a hole.
        """
        if self.holes:
            raise StoreError(self.holes[0])
        return self


def partition_days(store: Store) -> dict[date, list[str]]:
    """The Parquet objects of each day, by the day that their folder states."""
    days: dict[date, list[str]] = {}
    for key in store.keys("attempts"):
        parts = key.split("/")
        day = _day(parts[1]) if len(parts) == 3 else None
        if day is not None and key.endswith(".parquet"):
            days.setdefault(day, []).append(key)
    return dict(sorted(days.items()))


def day_keys(store: Store, day: date) -> list[str]:
    """The Parquet objects of one day: a listing of its own folder only."""
    return [key for key in store.keys(partition(day)) if key.endswith(".parquet")]


def read_days(
    store: Store, days: Iterable[tuple[date, Sequence[str]]], columns: Sequence[str]
) -> Read:
    """The rows of some days, as they lie there: `distinct` comes after."""
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    lenient = pa.schema([field.with_nullable(True) for field in schema])
    tables = [lenient.empty_table()]
    skipped: list[str] = []
    holes: list[str] = []
    with ThreadPoolExecutor(store.readers) as pool:
        for day, keys in days:
            parts = _parts(pool, store, day, keys, schema)
            # One piece a day, however many objects: what comes after sees few of them.
            known = [part.table for part in parts if part.table is not None]
            together = pa.concat_tables([schema.empty_table(), *known]).combine_chunks()
            tables.append(pa.Table.from_arrays(together.columns, schema=lenient))
            bad = [part for part in parts if part.table is None]
            skipped += [part.key for part in bad]
            total, lost = (sum(part.size for part in some) for some in (parts, bad))
            if len(bad) == len(parts) or lost * 2 > total:
                holes.append(
                    f"most of {day} cannot be read: {lost:,} of {total:,} bytes, in {len(bad)} of "
                    f"{len(parts)} objects" + (f", the last {bad[-1].key}" if bad else "")
                )
    return Read(pa.concat_tables(tables), tuple(skipped), tuple(holes))


class _Part(NamedTuple):
    """An object's bytes, its table where it is an attempt file, and whose rows are in it too."""

    key: str
    size: int
    table: pa.Table | None
    sources: frozenset[str] = frozenset()


def _parts(
    pool: Executor, store: Store, day: date, keys: Sequence[str], schema: pa.Schema
) -> list[_Part]:
    """A day's objects but those that were merged into another.

    Objects may be merged while they are read: where one is gone the day is listed anew, so that
    whatever lay there is in one of those that are read.
    """

    def part(key: str) -> _Part | None:
        content = store.read(key)
        return None if content is None else _part(key, content, schema)

    for _ in range(_LISTINGS):
        parts = list(pool.map(part, filter(is_merged, keys)))
        held = frozenset[str]().union(*(part.sources for part in parts if part is not None))
        rest = [key for key in keys if not is_merged(key) and name_of(key) not in held]
        parts += pool.map(part, rest)
        if None not in parts:
            break
        keys = day_keys(store, day)
    return [part for part in parts if part is not None]


def distinct(table: pa.Table) -> pa.Table:
    """One row an attempt id: the latest `completed_at`, then the greatest digest.

    Rows come out ordered by attempt id, whatever order files and rows came in.
    """
    order = [("attempt_id", "ascending"), *((name, "descending") for name in IDENTITY[1:])]
    table = table.take(pc.sort_indices(table, sort_keys=order))
    ids = table["attempt_id"].combine_chunks()
    if len(ids) < 2:
        return table
    first = pa.concat_arrays([pa.array([True]), pc.not_equal(ids[1:], ids[:-1])])
    return table.filter(first)


def _part(key: str, content: bytes, schema: pa.Schema) -> _Part:
    """One object under the schema, without a table where it is no attempt file."""
    try:
        # Columns that it lacks are not missed here. Of a small object the threads cost more than
        # the reading.
        found = pq.ParquetFile(pa.BufferReader(content)).read(
            columns=schema.names, use_threads=len(content) > _SMALL
        )
        if sorted(found.schema.names) == sorted(schema.names):
            found = found.select(schema.names)  # they come in the file's order
        table = found if found.schema.equals(schema) else _as_ours(found, schema)
    except (pa.ArrowException, OSError):
        return _Part(key, len(content), None)
    told = table is not None and is_merged(key)
    return _Part(key, len(content), table, sources_of(found.schema) if told else frozenset())


def _as_ours(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """Other columns or types, under the schema; None where it is no table of attempts."""
    present = set(table.schema.names)
    if len(present) < len(table.schema):
        return None  # a name that stands twice says nothing
    if not {name for name in schema.names if name in _REQUIRED} <= present:
        return None
    columns = [
        table[field.name].cast(field.type)
        if field.name in present
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return _complete(pa.Table.from_arrays(columns, schema=schema))


def _complete(table: pa.Table) -> pa.Table:
    """The rows that have what every attempt has; a foreign file may lack it here and there."""
    for name in table.schema.names:
        if name in _REQUIRED and table[name].null_count:
            table = table.filter(pc.is_valid(table[name]))
    return table


def _day(folder: str) -> date | None:
    """The day of a folder dt=YYYY-MM-DD; other spellings are not ours and name no day."""
    try:
        day = date.fromisoformat(folder.removeprefix("dt="))
    except ValueError:
        return None
    return day if folder == f"dt={day.isoformat()}" else None
