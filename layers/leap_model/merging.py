"""A day's many small attempt files become few, while others are written and read.

What is merged is written first, under a name that its sources decide, and says in its metadata
what they were; only then may they go. Readers skip what a merged file holds, whether it is still
there or not, and whoever does not know of that sees rows twice, and counts them once. A merge that
ends half way leaves what the next one finishes: sources that a merged file names are never merged
again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.table import (
    SCHEMA,
    is_appended,
    is_merged,
    name_of,
    sources_of,
    write_merged,
)

LEAST_FILES = 16
"""A day with fewer that are not merged is left as it is."""
MOST_ROWS = 500_000
"""Rows after which a merged file is full."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of the days of a store: files that may go, and those that hold their rows."""

    days: int = 0
    files: int = 0
    into: int = 0

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(self.days + other.days, self.files + other.files, self.into + other.into)


def merge(
    store: Store,
    before: date,
    least: int = LEAST_FILES,
    watch: Callable[[str], None] | None = None,
) -> Merged:
    """Merge the small files of every day before a date.

    Parameters
    ----------
    store : Store
        Whose attempts.
    before : date
        Days from it on are left alone: more is still to come.
    least : int
        Files of a day that are not merged yet, below which it is left alone.
    watch : callable, optional
        Told each day that is merged.

    Raises
    ------
    StoreError
        An object cannot be read, written or let go. Nothing is lost, and the next merge goes on.
    """
    done = Merged()
    for day, keys in partition_days(store).items():
        if day < before and sum(map(is_appended, keys)) >= least:
            done += merge_day(store, day, keys, least, watch)
    return done


def merge_day(
    store: Store,
    day: date,
    keys: Sequence[str],
    least: int = 2,
    watch: Callable[[str], None] | None = None,
) -> Merged:
    """Merge a day's files among `keys` that LEAP wrote, where `least` of them are not merged yet.

    Others, be it by their name, that they cannot be read or that they have further columns, stay as
    they are: only a name that is derived from the records says that what lies there is what was
    merged.
    """
    held = _held(store, [key for key in keys if is_merged(key)])
    appended = [key for key in keys if is_appended(key)]
    store.expire([key for key in appended if name_of(key) in held])
    fresh = [key for key in appended if name_of(key) not in held]
    if len(fresh) < max(least, 2):
        return Merged()
    if watch is not None:
        watch(day.isoformat())
    done = Merged(days=1)
    for group in _groups(store, fresh):
        if len(group) < 2:
            continue
        table = _whole(pa.concat_tables([group[key] for key in sorted(group)]))
        written = write_merged(store, day, table, [name_of(key) for key in group])
        store.expire(sorted(group))
        done += Merged(files=len(group), into=int(written))
    return done


def _held(store: Store, keys: Sequence[str]) -> frozenset[str]:
    """The names of the files whose rows merged files hold."""
    return frozenset[str]().union(*(_sources(store.read(key)) for key in keys))


def _sources(content: bytes | None) -> frozenset[str]:
    try:
        return sources_of(pq.ParquetFile(pa.BufferReader(content or b"")).schema_arrow)
    except (pa.ArrowException, OSError):
        return frozenset()


def _groups(store: Store, keys: Sequence[str]) -> Iterator[Mapping[str, pa.Table]]:
    """Tables of a day's files by key, in groups that fill a merged file each."""
    group: dict[str, pa.Table] = {}
    rows = 0
    with ThreadPoolExecutor(store.readers) as pool:
        for first in range(0, len(keys), 1_000):
            some = keys[first : first + 1_000]
            for key, content in zip(some, pool.map(store.read, some), strict=True):
                table = _ours(content)
                if table is None:
                    continue
                if group and rows + len(table) > MOST_ROWS:
                    yield group
                    group, rows = {}, 0
                group[key] = table
                rows += len(table)
    yield group


def _ours(content: bytes | None) -> pa.Table | None:
    """An attempt file of the schema that is written, None of any other."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content or b""))
        if file.schema_arrow.equals(SCHEMA):
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError):
        pass
    return None


def _whole(table: pa.Table) -> pa.Table:
    """The rows ordered, each record once: of one that was stored twice, the first to come."""
    order = ("attempt_id", "record_sha256", "completed_at", "ingested_at")
    table = table.combine_chunks()
    table = table.take(pc.sort_indices(table, [(name, "ascending") for name in order]))
    if len(table) < 2:
        return table
    ids, digests = (table[name].combine_chunks() for name in order[:2])
    other = pc.or_kleene(pc.not_equal(ids[1:], ids[:-1]), pc.not_equal(digests[1:], digests[:-1]))
    # A row without a digest is never taken for another.
    kept = pa.concat_arrays([pa.array([True]), pc.fill_null(other, True)])
    return table.filter(kept)
