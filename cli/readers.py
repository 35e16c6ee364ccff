"""Files of attempts as records: JSON Lines, CSV and Parquet, the first two also gzipped."""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from leap_model.cells import value_of_cell
from leap_model.errors import LeapError
from leap_model.intake import Record
from leap_model.json_text import read_json

_OPEN_FIELDS = ("config", "allocation", "architecture", "ranking")
_TEXT_FIELDS = {
    "attempt_id",
    "job_name",
    "job_family",
    "model_type",
    "hardware_type",
    "launched_at",
    "completed_at",
}


class UnreadableFileError(LeapError):
    """A file that is not what its name says, or ends early."""


def read_records(path: Path, read: Callable[[bytes], Any] = read_json) -> Iterator[Record]:
    """The records of a file, by the ending of its name. JSON is read by `read`.

    Raises
    ------
    UnreadableFileError
        The ending is none of those that are read, or the file is broken.
    """
    name = path.name.lower().removesuffix(".gz")
    readers: dict[str, Callable[[BinaryIO], Iterator[Record]]] = {
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), partial(_json_lines, read=read)),
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(Path(name).suffix)
    if reader is None:
        known = ", ".join(readers)
        raise UnreadableFileError(f"{path} ends in none of {known}, nor in one of them with .gz")
    try:
        with _opened(path) as file:
            yield from reader(file)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as fault:
        raise UnreadableFileError(f"{path} cannot be read to its end: {fault}") from None
    except (csv.Error, pa.ArrowException) as fault:
        raise UnreadableFileError(f"{path} is not what its name says: {fault}") from None


def _opened(path: Path) -> BinaryIO:
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _json_lines(file: BinaryIO, read: Callable[[bytes], Any]) -> Iterator[Record]:
    for line in file:
        body = line.strip()
        if body:
            yield Record.of_json(body, read)


def _csv_rows(file: BinaryIO) -> Iterator[Record]:
    text = TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        for row in csv.DictReader(text, restval=""):
            body = json.dumps(row).encode()
            if None in row:
                yield Record(body, fault="a row with no more cells than the header")
                continue
            cells = {name: _cell(name, cell) for name, cell in row.items()}
            yield Record(body, _nested(cells))
    finally:
        text.detach()  # whoever opened the file closes it


def _cell(name: str, cell: str) -> Any:
    return (cell.strip() or None) if name in _TEXT_FIELDS else value_of_cell(cell)


def _parquet_rows(file: BinaryIO) -> Iterator[Record]:
    for batch in pq.ParquetFile(file).iter_batches():
        for row in _microseconds(batch).to_pylist():
            value = _nested({name: _plain(entry) for name, entry in row.items()})
            yield Record(json.dumps(value, default=str).encode(), value)


def _microseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Python's times have no nanoseconds, and Arrow refuses to drop them unasked."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain(value: Any) -> Any:
    """An Arrow value as JSON would have it; a map comes as a list of pairs."""
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(v, tuple) and len(v) == 2 for v in value):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, (timedelta, time)) else value


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Undo the flattening of `config.*` and the like; an empty cell is an absent value."""
    record: dict[str, Any] = {}
    for name, value in row.items():
        field, dot, entry = name.partition(".")
        if value is None:
            continue
        if dot and field in _OPEN_FIELDS:
            nested = record.setdefault(field, {})
            if isinstance(nested, dict):
                nested[entry] = value
        elif field in _OPEN_FIELDS and isinstance(value, str):
            record[name] = _parsed(value)
        else:
            record[name] = value
    return record


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
