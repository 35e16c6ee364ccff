"""The measured throughput goes in whole."""

from pathlib import Path

import pytest

from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore
from tests.unit.cli.commands import document

ATTEMPTS = 42_559


@pytest.mark.real_data
def test_every_measured_attempt_is_stored_and_none_is_lost(measured: Path, tmp_path: Path) -> None:
    options = ("--store", tmp_path / "store", "--catalogue", measured / "hardware.csv")
    counts = document("import", measured / "training.jsonl.gz", *options)
    assert counts == {
        "read": ATTEMPTS,
        "stored": ATTEMPTS,
        "duplicates": 0,
        "rejected": 0,
        "rejected_reasons": {},
        "dropped_values": counts["dropped_values"],
    }
    store = LocalStore(tmp_path / "store")
    names = ("attempt_id", "completed_at", "record_sha256")
    table = read_days(store, partition_days(store).items(), names).table
    assert distinct(table).num_rows == table.num_rows == ATTEMPTS
