"""From the bus to the store of a deployed stage: every attempt once, and nothing lost."""

import gzip
import json
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cli.local_aws.arrivals import Arrivals
from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore, Store
from leap_model.table import SCHEMA
from tests.end_to_end.conftest import FLEET, Stage
from tests.end_to_end.handling import until, waiting
from tests.support import attempt
from tests.unit.cli.commands import document

ARRIVED_S = 120.0
"""What arrives passes a bus, a queue and a function, on a machine that may be busy."""
REAL_DATA = (date(2019, 1, 1), date(2026, 1, 1))
"""From its first day to before the first day of the fleet."""


def _rows(store: Store, first: date, end: date) -> pa.Table:
    """Every attempt of these days once, but for the time it arrived."""
    days = [(day, keys) for day, keys in partition_days(store).items() if first <= day < end]
    names = [name for name in SCHEMA.names if name != "ingested_at"]
    return distinct(read_days(store, days, names).whole().table)


def test_attempts_that_are_sent_twice_count_once(filled: Stage) -> None:
    assert until(lambda: waiting(filled.outputs["QueueUrl"]) == 0, ARRIVED_S, every_s=0.5)
    rows = _rows(filled.store, date(2026, 1, 1), date.max)
    assert rows["attempt_id"].to_pylist() == sorted(entry["attempt_id"] for entry in FLEET)


def test_a_malformed_attempt_is_kept_apart_and_its_neighbours_are_stored(filled: Stage) -> None:
    when = "2018-06-01T12:00:00Z"
    good = [attempt(attempt_id=f"neighbour-{n}", completed_at=when) for n in range(2)]
    bad = attempt(attempt_id="malformed", completed_at=when, num_trainers="four")
    filled.publish([good[0], bad, good[1]])

    def rejected() -> list[dict[str, Any]]:
        # Other tests' are there, too.
        contents = [filled.store.read(key) or b"" for key in filled.store.keys("rejected")]
        lines = [json.loads(line) for content in contents for line in content.splitlines()]
        return [line for line in lines if '"malformed"' in line["body"]]

    assert until(lambda: len(rejected()) == 1, ARRIVED_S, every_s=0.5)
    (line,) = rejected()
    assert line["field"] == "num_trainers"
    assert until(lambda: waiting(filled.outputs["QueueUrl"]) == 0, ARRIVED_S, every_s=0.5)
    assert waiting(filled.outputs["DeadLettersUrl"]) == 0
    stored = _rows(filled.store, date(2018, 6, 1), date(2018, 6, 2))
    assert stored["attempt_id"].to_pylist() == ["neighbour-0", "neighbour-1"]


@pytest.mark.real_data
def test_real_data_through_the_stack_is_row_for_row_what_import_stores(
    stage: Stage, measured: Path, tmp_path: Path
) -> None:
    """Of every source and year: each 25th line, since the local AWS takes a hundred a second."""
    file = tmp_path / "some.jsonl"
    with gzip.open(measured / "training.jsonl.gz", "rt") as lines:
        file.write_text("".join(islice(lines, 0, None, 25)))
    imported = document("import", file, "--store", tmp_path / "store")
    arrivals = Arrivals(stage.store)
    before = arrivals.look()
    published = document("publish", file, "--bus", stage.outputs["BusName"])
    assert published["sent"] == published["read"] == imported["read"]
    arrivals.wait(before + imported["stored"])
    rows = _rows(stage.store, *REAL_DATA)
    assert len(rows) == imported["stored"]
    assert rows.equals(_rows(LocalStore(tmp_path / "store"), *REAL_DATA))
