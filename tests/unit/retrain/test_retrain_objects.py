"""What lies in the folders of the days: foreign, broken, odd, many, or nothing."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leap_model.errors import StoreError
from leap_model.reading import partition_days
from leap_model.store import LocalStore
from tests.support import attempt, filled, fleet, parquet_bytes, stored_table
from tests.unit.retrain.nights import (
    add,
    night,
    outcomes,
    pointer_of,
    put,
    put_attempts,
    records,
    rows_between,
)

FIRST, END = date(2026, 1, 1), date(2026, 2, 1)
DAY = "2026-01-02"


def _run(name: str, **values: object) -> dict[str, object]:
    return attempt(attempt_id=name, **values)


def test_a_day_of_nulls_then_a_day_of_values_are_read_alike(store: LocalStore) -> None:
    bare = _run("one", throughput=None)
    full = _run(
        "two",
        completed_at="2026-01-03T08:00:00Z",
        architecture={"params_m": 1.5},
        accelerators_per_host=4,
        duration_s=60,
        launched_at="2026-01-03T07:00:00Z",
    )
    filled(store.root, [bare])
    add(store, [full])
    rows = rows_between(store, FIRST, END)
    assert len(rows) == 2
    np.testing.assert_array_equal(rows.jobs.architecture.number("params_m"), [np.nan, 1.5])


def test_a_file_whose_column_has_the_null_type_is_read(store: LocalStore) -> None:
    filled(store.root, [])
    table = stored_table([_run("one")])
    for name in ("accelerators_per_host", "job_family", "launched_at", "duration_s"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.nulls(1))
    put(store, DAY, "a.parquet", parquet_bytes(table))
    put_attempts(store, "2026-01-03", "b.parquet", [_run("two", accelerators_per_host=4)])
    assert len(rows_between(store, FIRST, END).usable()) == 2


def test_a_file_without_an_optional_column_reads_as_nulls(store: LocalStore) -> None:
    filled(store.root, [])
    table = stored_table([_run("one")]).drop_columns(["utilization", "duration_s", "launched_at"])
    put(store, DAY, "a.parquet", parquet_bytes(table))
    assert len(rows_between(store, FIRST, END).usable()) == 1


@pytest.mark.parametrize(
    "dt", [pa.array([DAY]), pa.array([date(2026, 1, 2)]), pa.array([20260102])], ids=str
)
def test_a_dt_column_inside_a_file_is_ignored(store: LocalStore, dt: pa.Array) -> None:
    filled(store.root, [])
    table = stored_table([_run("one")]).append_column("dt", dt)
    put(store, DAY, "a.parquet", parquet_bytes(table))
    assert len(rows_between(store, FIRST, END).usable()) == 1


@pytest.mark.parametrize(
    "folder",
    [
        *("dt=20260102", "month=01", "dt=2026-1-2", "dt=2026-02-30", "dt=", "2026-01-02"),
        *("dt=2026-W01-5", "DT=2026-01-02", "dt=2026-01-02/hour=09", "year=2026/month=01"),
    ],
)
def test_folders_of_another_spelling_name_no_day(store: LocalStore, folder: str) -> None:
    store.create(f"attempts/{folder}/a.parquet", b"anything")
    store.create("attempts/loose.parquet", b"anything")
    assert partition_days(store) == {}


def test_days_come_in_order_with_their_parquet_objects_only(store: LocalStore) -> None:
    for day in ("2026-01-03", "2026-01-01"):
        put(store, day, "b.parquet", b"x")
        put(store, day, "a.parquet", b"x")
        put(store, day, "_SUCCESS", b"")
        put(store, day, "notes.jsonl", b"{}")
        (store.root / f"attempts/dt={day}/.hidden.parquet").write_bytes(b"x")
    days = partition_days(store)
    assert [day.isoformat() for day in days] == ["2026-01-01", "2026-01-03"]
    assert days[date(2026, 1, 1)] == [f"attempts/dt=2026-01-01/{n}.parquet" for n in "ab"]


def _foreign() -> bytes:
    return parquet_bytes(pa.table({"vendor": ["acme"], "completed_at": ["yesterday"]}))


def test_bad_objects_are_left_out_and_named_and_the_run_goes_on(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    plain = night(store)
    assert plain["skipped_objects"] == []
    bad = [
        put(store, "2026-01-05", "b.parquet", b""),
        put(store, "2026-01-05", "z.parquet", b"no parquet at all"),
        put(store, "2026-01-06", "foreign.parquet", _foreign()),
    ]
    put(store, "2026-01-06", "notes.txt", b"no attempt")
    metrics = night(store)
    assert metrics["skipped_objects"] == bad
    assert metrics["manifest_sha256"] == plain["manifest_sha256"]


def test_a_truncated_object_is_left_out(store: LocalStore) -> None:
    filled(store.root, [_run(f"a{at}") for at in range(50)])
    content = parquet_bytes(stored_table([_run("cut")]))
    bad = put(store, DAY, "cut.parquet", content[: len(content) // 3])
    raw = records(store, FIRST, END)
    assert (raw.skipped, raw.light.num_rows) == ((bad,), 50)


@pytest.mark.parametrize("name", ["attempt_id", "config"])
@pytest.mark.parametrize("lacking", [[], ["job_name"], ["duration_s"]], ids=str)
def test_a_file_in_which_a_name_stands_twice_is_left_out(
    store: LocalStore, name: str, lacking: list[str]
) -> None:
    filled(store.root, fleet(1_000))
    table = stored_table([_run("one")]).drop_columns(lacking)
    twice = table.append_column(name, table[name])
    bad = put(store, DAY, "a.parquet", parquet_bytes(twice))
    raw = records(store, FIRST, END)
    assert (raw.skipped, raw.light.num_rows) == ((bad,), 1_000)


@pytest.mark.parametrize("content", [b"", b"x" * 1_000_000], ids=["nothing", "junk"])
def test_a_day_that_is_mostly_unreadable_stops_the_run(store: LocalStore, content: bytes) -> None:
    filled(store.root, fleet(300))
    night(store)
    before = pointer_of(store)
    for key in store.keys("attempts/dt=2026-01-05"):
        (store.root / key).write_bytes(content)
    with pytest.raises(StoreError, match="most of 2026-01-05 cannot be read"):
        night(store)
    assert pointer_of(store) == before


def test_an_unreadable_day_before_the_window_stops_the_run_too(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    put(store, "2025-06-01", "x.parquet", b"junk")
    with pytest.raises(StoreError, match="most of 2025-06-01"):
        night(store)
    assert pointer_of(store) is None


def test_a_small_bad_object_beside_a_large_good_one_does_not_stop_the_run(
    store: LocalStore,
) -> None:
    filled(store.root, fleet(300))
    bad = put(store, "2026-01-05", "junk.parquet", b"x" * 100)
    assert night(store)["skipped_objects"] == [bad]


def test_an_aborted_upload_does_not_keep_attempts_out_of_its_day(store: LocalStore) -> None:
    put(store, DAY, "aborted.parquet", b"")
    assert add(store, [_run("one"), _run("two", completed_at="2026-01-03T00:00:00Z")]).stored == 2


def test_a_thousand_and_one_objects_of_a_day_are_all_read(store: LocalStore) -> None:
    table = stored_table([_run(f"a{at:04}") for at in range(1001)])
    filled(store.root, [])
    folder = store.root / "attempts/dt=2026-01-02"
    folder.mkdir(parents=True)
    for at in range(1001):
        pq.write_table(table.slice(at, 1), folder / f"{at:04}.parquet", compression="none")
    assert len(outcomes(store, END).completed_at) == 1001


def test_two_batches_of_one_day_lie_side_by_side(store: LocalStore) -> None:
    filled(store.root, [_run("one")])
    add(store, [_run("two")])
    assert len(store.keys("attempts/dt=2026-01-02")) == 2
    assert len(rows_between(store, FIRST, END)) == 2


def test_a_store_without_attempts_reads_as_nothing(tmp_path: Path) -> None:
    absent = LocalStore(tmp_path / "absent")
    assert partition_days(absent) == {}
    filled(absent.root, [])
    raw = records(absent, FIRST, END)
    assert (raw.light.num_rows, raw.older.num_rows) == (0, 0)


@pytest.mark.parametrize("throughput", [None, 100.0])
@pytest.mark.parametrize(
    "name",
    [
        *("hardware_type", "model_type", "job_name", "num_trainers", "config"),
        *("architecture", "completed_at", "attempt_id"),
    ],
)
def test_a_file_that_lacks_what_every_attempt_has_does_not_break_the_run(
    store: LocalStore, name: str, throughput: float | None
) -> None:
    filled(store.root, fleet(300))
    foreign = stored_table([_run("foreign", throughput=throughput)]).drop_columns([name])
    put(store, "2026-01-05", "foreign.parquet", parquet_bytes(foreign))
    assert night(store)["pointed"]
