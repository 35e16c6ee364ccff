"""Files of a simulated fleet."""

import datetime as dt
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cli.simulation.fleet import Day, Fleet
from cli.simulation.hardware import catalogue_text

_GZIP_LEVEL = 5


def write_attempts(folder: Path, date: dt.date, records: Iterable[dict[str, Any]]) -> Path:
    """Write the attempts of `date` as gzipped JSON Lines; the same records give the same bytes."""
    path = folder / f"{date:%Y-%m-%d}.jsonl.gz"
    encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    text = "".join(f"{encode(record)}\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), _GZIP_LEVEL, mtime=0))
    return path


def write_truth(folder: Path, date: dt.date, fleet: Fleet, day: Day, ids: list[str]) -> Path:
    """Write the noise-free throughput of every attempt on every type, null where it cannot run."""
    path = folder / f"{date:%Y-%m-%d}.parquet"
    names = fleet.hardware.names
    missing = np.isnan(day.truth)
    columns = {
        "attempt_id": pa.array(ids),
        "hardware_type": pa.array([names[i] for i in day.hardware]),
    }
    for position, name in enumerate(names):
        values = np.ascontiguousarray(day.truth[:, position])
        columns[name] = pa.array(values, mask=missing[:, position])
    pq.write_table(pa.table(columns), path)
    return path


def write_catalogue(path: Path) -> Path:
    """Write the hardware catalogue."""
    path.write_text(catalogue_text(), encoding="utf-8")
    return path
