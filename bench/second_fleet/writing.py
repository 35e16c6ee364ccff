"""Files of the second fleet, in the layout that `leap simulate` writes."""

import datetime as dt
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.second_fleet.catalogue import Types
from bench.second_fleet.launches import Day


def write_attempts(folder: Path, date: dt.date, records: Iterable[dict[str, Any]]) -> None:
    """Write the attempts of `date`, a line each."""
    lines = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
    (folder / f"{date}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 5, mtime=0))


def write_truth(
    folder: Path, date: dt.date, types: Types, day: Day, records: list[dict[str, Any]]
) -> None:
    """Write the noise-free throughput of every attempt on every type, null where it cannot run."""
    columns = {name: pa.array([record[name] for record in records]) for name in _IDENTITY}
    for at, name in enumerate(types.names):
        values = np.ascontiguousarray(day.truth[:, at])
        columns[name] = pa.array(values, mask=np.isnan(values))
    pq.write_table(pa.table(columns), folder / f"{date}.parquet")


_IDENTITY = ("attempt_id", "hardware_type")
