"""leap import where a file is not what it should be."""

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from leap_model.intake import Counts, Record, take_in
from leap_model.store import LocalStore
from tests.support import NOW, attempt, fleet, parquet_bytes
from tests.unit.cli.commands import document, flat, json_lines, refused

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")


def _packed() -> bytes:
    lines = "".join(json.dumps(entry) + "\n" for entry in fleet(200))
    return gzip.compress(lines.encode())


def _flipped() -> bytes:
    content = bytearray(_packed())
    for at in range(40, len(content) // 2, 7):
        content[at] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"{}"),
        ("a", b"{}"),
        ("a.xlsx", b"PK"),
        ("a.gz", b"{}"),
        ("a.jsonl.zst", b"{}"),
        ("a.jsonl.gz", b"not gzip"),
        ("cut.jsonl.gz", _packed()[:-200]),
        ("a.csv.gz", b"\x1f\x8b"),
        ("a.csv", b"a,b\n\xff\xfe,1\n"),
        ("a.csv", b'attempt_id\n"' + b"x" * 200_000 + b'"\n'),
        ("a.parquet", b""),
        ("a.parquet", b"PAR1 not parquet PAR1"),
        ("cut.parquet", parquet_bytes(pa.table({"a": [1]}))[:-20]),
        ("flipped.jsonl.gz", _flipped()),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert name in refused("import", tmp_path / name, "--store", tmp_path / "store")


def test_a_file_or_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "missing.jsonl" in refused("import", tmp_path / "missing.jsonl", "--store", tmp_path)
    refused("import", tmp_path, "--store", tmp_path / "store")
    refused("import", "--store", tmp_path / "store")
    file = json_lines(tmp_path / "a.jsonl", [attempt()])
    refused("import", file)
    refused("import", file, "--store", file)
    refused("import", file, "--store", tmp_path / "store", "--catalogue", tmp_path / "missing.csv")


def _table(**columns: Any) -> pa.Table:
    plain = {name: pa.array([value]) for name, value in flat(attempt()).items()}
    return pa.table({**plain, **columns})


def _nanoseconds() -> pa.Array:
    return pa.array([1767344340000000001], pa.timestamp("ns", "UTC"))


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"cost_usd": pa.array([Decimal("1.5")])}, id="decimal"),
        pytest.param({"note": pa.array([dt.timedelta(1)])}, id="duration"),
        pytest.param({"note": pa.array([dt.time(1)])}, id="time"),
        pytest.param({"config.at": pa.array([[dt.date(2026, 1, 1)]])}, id="inner"),
        pytest.param({"completed_at": _nanoseconds()}, id="nanoseconds"),
        pytest.param({"note": pa.array([b"\xff"])}, id="bytes"),
        pytest.param({"config.at": pa.array([dt.date(2026, 1, 1)])}, id="date"),
        pytest.param({"note": pa.array([{"a": [{"b": 2}]}])}, id="nested"),
        pytest.param({"throughput": pa.array([float("nan")])}, id="NaN"),
    ],
)
def test_any_column_of_a_parquet_file_is_read_or_rejected(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(parquet_bytes(_table(**columns)))
    counts = document("import", file, "--store", tmp_path / "store")
    assert counts["stored"] + counts["rejected"] == 1


def test_a_time_without_a_zone_in_parquet_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    naive = pa.array([dt.datetime(2026, 1, 2, 8, 59)])  # noqa: DTZ001 - that is the point
    file.write_bytes(parquet_bytes(_table(completed_at=naive)))
    assert document("import", file, "--store", tmp_path / "store")["rejected"] == 1


def test_a_broken_file_does_not_keep_the_files_before_it_out(tmp_path: Path) -> None:
    good = json_lines(tmp_path / "good.jsonl", [attempt()])
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not gzip")
    refused("import", good, tmp_path / "bad.jsonl.gz", "--store", tmp_path / "store")
    assert LocalStore(tmp_path / "store").keys("attempts")


@pytest.mark.parametrize(
    "body",
    [
        *(b"null", b"{}", b"{\0", b'"\\ud800"', b'{"attempt_id": "\\ud800"}', b"[" * 50_000),
        *(b'{"attempt_id": ' + b"9" * 5000 + b"}", b" ", b"\n", b"x" * 1_100_000),
        b"",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_no_body_blocks_its_neighbours(store: LocalStore, body: bytes) -> None:
    good = Record.of_json(json.dumps(attempt()).encode())
    counts = Counts()
    take_in(store, [Record.of_json(body), good], counts, NOW)
    assert (counts.stored, counts.rejected) == (1, 1)
    (key,) = store.keys("rejected")
    (line,) = (store.read(key) or b"").splitlines()
    assert json.loads(line).keys() >= {"reason", "field", "received_at"}


def test_the_same_rejected_batch_again_is_kept_once(store: LocalStore) -> None:
    for _ in range(2):
        counts = Counts()
        take_in(store, [Record.of_json(b"not json"), Record.of_json(b"nor this")], counts, NOW)
        assert counts.rejected == 2
    (key,) = store.keys("rejected")
    assert len((store.read(key) or b"").splitlines()) == 2
