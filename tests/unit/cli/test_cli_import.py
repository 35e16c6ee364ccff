"""leap import: four kinds of files, the same store; what breaks a rule is kept."""

import base64
import csv
import gc
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.readers import read_records
from leap_model.store import LocalStore
from tests.support import CATALOGUE, attempt, fleet, parquet_bytes
from tests.unit.cli.commands import document, flat, json_lines, refused, succeeded

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
Attempts = list[dict[str, Any]]


@pytest.fixture(scope="module")
def attempts() -> Attempts:
    entries = fleet(60)
    entries[3]["throughput"] = None
    entries[4] |= {"job_family": "own", "allocation": {"zone": "us-east-1a"}, "cost_usd": 1.5}
    entries[5] |= {"utilization": 0.5, "accelerators_per_host": 4}
    entries[6]["job_name"] = 'a "quoted", comma\tand ünïcode 🚀'
    return entries


def _jsonl(path: Path, attempts: Attempts) -> Path:
    return json_lines(path.with_suffix(".jsonl"), attempts)


def _gzipped(path: Path, attempts: Attempts) -> Path:
    plain = _jsonl(path, attempts)
    packed = plain.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    return packed


def _csv(path: Path, attempts: Attempts) -> Path:
    rows = [flat(entry) for entry in attempts]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return path.with_suffix(".csv")


def _csv_gz(path: Path, attempts: Attempts) -> Path:
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(_csv(path, attempts).read_bytes()))
    return packed


def _parquet(path: Path, attempts: Attempts) -> Path:
    rows = [flat(entry) for entry in attempts]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    path.with_suffix(".parquet").write_bytes(parquet_bytes(pa.table(columns)))
    return path.with_suffix(".parquet")


KINDS = [_jsonl, _gzipped, _csv, _csv_gz, _parquet]


def _rows(root: Path) -> list[dict[str, Any]]:
    store = LocalStore(root)
    rows: list[dict[str, Any]] = []
    for key in store.keys("attempts"):
        table = pq.ParquetFile(store.folder(key)).read().drop_columns(["ingested_at"])
        rows.extend({**row, "day": key.split("/")[1]} for row in table.to_pylist())
    return sorted(rows, key=lambda row: str(row["attempt_id"]))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, attempts: Attempts) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("expected")
    succeeded("import", _jsonl(folder / "a", attempts), "--store", folder / "store")
    rows = _rows(folder / "store")
    assert len(rows) == 60
    return rows


@pytest.mark.parametrize("write", KINDS, ids=lambda kind: kind.__name__[1:])
def test_every_kind_of_file_gives_the_same_store_and_again_stores_nothing(
    tmp_path: Path, attempts: Attempts, expected: list[dict[str, Any]], write: Any
) -> None:
    file, store = write(tmp_path / "a", attempts), tmp_path / "store"
    counts = document("import", file, "--store", store)
    assert counts == {
        "read": 60,
        "stored": 60,
        "duplicates": 0,
        "rejected": 0,
        "rejected_reasons": {},
        "dropped_values": 0,
    }
    assert _rows(store) == expected
    again = document("import", file, "--store", store)
    assert (again["read"], again["stored"], again["duplicates"]) == (60, 0, 60)
    assert _rows(store) == expected


def test_what_a_store_holds_can_be_imported_again(
    tmp_path: Path, attempts: Attempts, expected: list[dict[str, Any]]
) -> None:
    store = LocalStore(tmp_path / "store")
    document("import", _jsonl(tmp_path / "a", attempts), "--store", store)
    files = [store.folder(key) for key in store.keys("attempts")]
    assert document("import", *files, "--store", store)["stored"] == 0
    assert document("import", *files, "--store", tmp_path / "copy")["stored"] == 60
    assert _rows(tmp_path / "copy") == expected


def test_several_files_are_one_import(tmp_path: Path, attempts: Attempts) -> None:
    one, two = json_lines(tmp_path / "1.jsonl", attempts[:40]), tmp_path / "2.jsonl"
    json_lines(two, attempts[30:])
    counts = document("import", one, two, "--store", tmp_path / "store")
    assert (counts["read"], counts["stored"], counts["duplicates"]) == (70, 60, 10)


BAD = [
    (b"not json", None),
    (b'{"attempt_id": "x"', None),
    (b"[1]", None),
    (b"\xff\xfe", None),
    (json.dumps(attempt(num_trainers="64")).encode(), "num_trainers"),
    (json.dumps(attempt(num_trainers=True)).encode(), "num_trainers"),
    (json.dumps(attempt(completed_at="2026-01-02T08:59:00")).encode(), "completed_at"),
    (json.dumps(attempt(completed_at="2014-12-31T23:59:59Z")).encode(), "completed_at"),
    (json.dumps(attempt(completed_at=1767225600)).encode(), "completed_at"),
    (json.dumps(attempt(batch_size=float("nan"))).encode(), "batch_size"),
    (json.dumps(attempt(config={"lr": float("inf")})).encode(), "config.lr"),
    (json.dumps(attempt(attempt_id="")).encode(), "attempt_id"),
]


def test_rejected_lines_are_kept_with_their_reason_and_neighbours_are_stored(
    tmp_path: Path,
) -> None:
    lines = [json.dumps(attempt(attempt_id=f"good-{at}")).encode() for at in range(len(BAD))]
    file = tmp_path / "mixed.jsonl"
    file.write_bytes(b"\n".join(b for pair in zip(lines, BAD, strict=True) for b in pair_of(pair)))
    counts = document("import", file, "--store", tmp_path / "store")
    assert (counts["read"], counts["stored"], counts["rejected"]) == (24, 12, 12)
    assert sum(counts["rejected_reasons"].values()) == 12
    store = LocalStore(tmp_path / "store")
    (key,) = store.keys("rejected")
    kept = [json.loads(line) for line in (store.read(key) or b"").splitlines()]
    assert len(kept) == len(BAD)
    for line, (body, field) in zip(kept, BAD, strict=True):
        shown = line["body"].encode() if "body" in line else base64.b64decode(line["body_base64"])
        assert shown == body
        assert line["reason"]
        assert line["received_at"].endswith("Z")
        assert key.split("/")[1] == f"dt={line['received_at'][:10]}"
        assert field is None or line["field"] == field
    assert "rejected 12" in succeeded("import", file, "--store", store)


def pair_of(pair: tuple[bytes, tuple[bytes, str | None]]) -> tuple[bytes, bytes]:
    """A good line and a bad one."""
    return pair[0], pair[1][0]


def test_a_row_longer_than_its_header_is_rejected_and_its_neighbours_are_stored(
    tmp_path: Path,
) -> None:
    file = _csv(tmp_path / "a", [attempt(attempt_id="a"), attempt(attempt_id="b")])
    first, second, third = file.read_text().splitlines()
    file.write_text("\n".join([first, f"{second},surplus", third]) + "\n")
    counts = document("import", file, "--store", tmp_path / "store")
    assert (counts["stored"], counts["rejected"]) == (1, 1)


def test_nested_values_are_dropped_and_counted(tmp_path: Path) -> None:
    file = json_lines(tmp_path / "a.jsonl", [attempt(config={"lr": 1, "mesh": {"a": 1}, "l": []})])
    assert document("import", file, "--store", tmp_path / "store")["dropped_values"] == 2
    assert json.loads(_rows(tmp_path / "store")[0]["config"]) == {"lr": 1}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"], ids=["empty", "blank", "mark"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_file_without_attempts_is_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    counts = document("import", tmp_path / name, "--store", tmp_path / "store")
    assert counts["stored"] == 0


def test_cells_of_csv_are_parsed(tmp_path: Path) -> None:
    file = _csv(tmp_path / "a", [attempt(num_trainers=" 64 ", batch_size="32.5", throughput="NaN")])
    assert document("import", file, "--store", tmp_path / "store")["stored"] == 1
    (row,) = _rows(tmp_path / "store")
    assert (row["num_trainers"], row["batch_size"]) == (64, 32.5)


def test_reading_csv_leaves_nothing_open(tmp_path: Path) -> None:
    file = _csv(tmp_path / "a", [attempt()])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert len(list(read_records(file))) == 1
        gc.collect()
    assert [str(entry.message) for entry in seen] == []


@pytest.mark.parametrize("name", ["hardware.json", "hardware.csv"])
def test_a_catalogue_is_kept_in_the_store(tmp_path: Path, name: str, attempts: Attempts) -> None:
    path = tmp_path / name
    if name.endswith(".json"):
        path.write_text(json.dumps(CATALOGUE))
    else:
        path.write_text("hardware_type,vendor,cost_per_hour,aliases\nfast-8,acme,40,FAST;F8\n")
    file = _jsonl(tmp_path / "a", attempts)
    for _ in range(2):
        text = succeeded("import", file, "--store", tmp_path / "store", "--catalogue", path)
        assert "hardware types" in text
    kept = json.loads((tmp_path / "store/catalogue/hardware.json").read_text())
    assert kept["hardware_types"][0]["hardware_type"] == "fast-8"


@pytest.mark.parametrize(
    ("content", "row", "rule"),
    [
        ('[{"hardware_type": "a"}, {"hardware_type": ""}]', "row 2", "hardware_type"),
        ('[{"hardware_type": "a", "cost_per_hour": 0}]', "row 1", "cost_per_hour"),
        ('[{"hardware_type": "a", "memory_gb": "80"}]', "row 1", "memory_gb"),
        ('[{"hardware_type": "a", "premium": 1}]', "row 1", "true or false"),
        ('[{"hardware_type": "a"}, {"hardware_type": "A"}]', '"a"', "one type"),
        ("[]", "at least one", "catalogue"),
        ("{", "catalogue", "readable"),
        ("\0", "catalogue", "readable"),
    ],
)
def test_a_fault_of_the_catalogue_names_row_and_rule_and_stores_nothing(
    tmp_path: Path, attempts: Attempts, content: str, row: str, rule: str
) -> None:
    path = tmp_path / "hardware.json"
    path.write_text(content)
    file = _jsonl(tmp_path / "a", attempts)
    line = refused("import", file, "--store", tmp_path / "store", "--catalogue", path)
    assert row in line
    assert rule in line
    assert not (tmp_path / "store").exists()


def test_a_file_without_attempts_makes_a_store_without_attempts(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    options = ("--store", tmp_path / "store", "--catalogue", tmp_path / "hardware.json")
    (tmp_path / "hardware.json").write_text(json.dumps(CATALOGUE))
    assert document("import", tmp_path / "none.jsonl", *options)["read"] == 0
    assert "holds no attempts" in refused("retrain", "--store", tmp_path / "store")


def test_a_store_is_made_even_where_nothing_goes_in(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    succeeded("import", tmp_path / "none.jsonl", "--store", tmp_path / "store")
    assert "catalogue" in refused("retrain", "--store", tmp_path / "store")
