"""One mid-size fleet, written once and read by every test of the folder."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.simulation import Summary, simulate

DAYS, PER_DAY, SEED = 4, 3000, 3


@pytest.fixture(scope="session")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    out = tmp_path_factory.mktemp("fleet")
    return simulate(out, days=DAYS, per_day=PER_DAY, seed=SEED)


@pytest.fixture(scope="session")
def days(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Attempts by the day their file is named for."""
    return {path.name.removesuffix(".jsonl.gz"): _read(path) for path in summary.files}


@pytest.fixture(scope="session")
def attempts(days: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [attempt for day in days.values() for attempt in day]


@pytest.fixture(scope="session")
def catalogue(summary: Summary) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(summary.catalogue.read_text())["hardware_types"]
    return entries


@pytest.fixture(scope="session")
def truth(summary: Summary) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted(summary.truth.iterdir())])


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line, parse_constant=_no_constant) for line in lines]


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")
