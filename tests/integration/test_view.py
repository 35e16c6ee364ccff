"""The view of attempts in DuckDB: what LEAP's own readers see, by SQL."""

from datetime import UTC, date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from leap_model.merging import merge
from leap_model.reading import distinct, partition_days, read_days
from leap_model.store import LocalStore
from leap_model.table import SCHEMA
from leap_model.view import duckdb_view
from tests.support import append_each, attempt, filled, fleet
from tests.unit.cli.commands import document, succeeded


@pytest.fixture
def small(tmp_path: Path) -> LocalStore:
    """Attempts in several files, one that came again later, one without what it may lack."""
    store = filled(tmp_path / "it's a store", fleet(120))
    first = fleet(120)[0]
    append_each(store, {**first, "completed_at": f"{first['completed_at'][:10]}T23:59:59.000001Z"})
    append_each(store, *[attempt(attempt_id=f"x{at}") for at in range(20)])
    append_each(store, attempt(attempt_id="é", config={"name": "naïve"}, throughput=float("nan")))
    return store


def _rows(store: LocalStore) -> list[dict[str, Any]]:
    table = distinct(read_days(store, partition_days(store).items(), SCHEMA.names).table)
    return [_plain(row) for row in table.to_pylist()]


def _asked(statement: str) -> list[dict[str, Any]]:
    with duckdb.connect() as database:
        database.execute(statement)
        found = database.sql("SELECT * FROM attempts ORDER BY attempt_id").to_arrow_table()
    names = found.schema.names
    assert names == [*SCHEMA.names, "dt"]
    rows = [_plain(row) for row in found.to_pylist()]
    for row in rows:
        assert str(row.pop("dt")) == row["completed_at"][:10]
    return rows


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as text and numbers: DuckDB gives times in the session's zone."""
    times = {"launched_at", "completed_at", "ingested_at"}
    return {
        name: None
        if value is None
        else str(value.astimezone(UTC))
        if name in times
        else repr(value)
        if isinstance(value, float)
        else value
        for name, value in row.items()
    }


def test_duckdb_sees_what_leap_sees_before_and_after_a_merge(small: LocalStore) -> None:
    expected = _rows(small)
    assert _asked(duckdb_view(str(small))) == expected
    merge(small, date.max, least=2)
    assert _asked(duckdb_view(str(small))) == expected


def test_what_was_merged_and_is_still_there_counts_once(small: LocalStore) -> None:
    expected = _rows(small)
    before = {key: small.read(key) or b"" for key in small.keys("attempts")}
    merge(small, date.max, least=2)
    for key, content in before.items():
        small.create(key, content)
    assert _asked(duckdb_view(str(small))) == expected


def test_the_command_prints_the_statement(small: LocalStore) -> None:
    statement = succeeded("view", "--store", small.root)
    assert statement == duckdb_view(str(small.root))
    assert document("view", "--store", small.root, "--json")["statement"] == statement
