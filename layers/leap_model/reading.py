"""Reads attempts back from their partitions: typed, each attempt once, bad objects set aside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leap_model.errors import StoreError
from leap_model.store import Store
from leap_model.table import SCHEMA, partition

IDENTITY = ("attempt_id", "completed_at", "record_sha256")
"""What tells two records of one attempt apart."""

_REQUIRED = {field.name for field in SCHEMA if not field.nullable}


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
    schema = pa.schema([SCHEMA.field(name).with_nullable(True) for name in columns])
    tables = [schema.empty_table()]
    skipped: list[str] = []
    holes: list[str] = []
    for day, keys in days:
        total = lost = bad = 0
        for key in keys:
            size = store.size(key) or 0
            table = _read(store, key, schema)
            total += size
            if table is None:
                skipped.append(key)
                lost += size
                bad += 1
            else:
                tables.append(table)
        if bad == len(keys) or lost * 2 > total:
            holes.append(
                f"most of {day} cannot be read: {lost:,} of {total:,} bytes, in {bad} of "
                f"{len(keys)} objects, the last {skipped[-1]}"
            )
    return Read(pa.concat_tables(tables), tuple(skipped), tuple(holes))


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


def _read(store: Store, key: str, schema: pa.Schema) -> pa.Table | None:
    """One object under the schema, or None where it is no attempt file."""
    content = store.read(key)
    try:
        file = pq.ParquetFile(pa.BufferReader(content or b""))
        present = set(file.schema_arrow.names)
        if not {name for name in schema.names if name in _REQUIRED} <= present:
            return None
        table = file.read(columns=[name for name in schema.names if name in present])
        columns = [
            table[field.name].cast(field.type)
            if field.name in present
            else pa.nulls(len(table), field.type)
            for field in schema
        ]
        return _complete(pa.Table.from_arrays(columns, schema=schema))
    except (pa.ArrowException, OSError):
        return None


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
