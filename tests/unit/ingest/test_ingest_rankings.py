"""Served rankings become rows of rankings/, each once a batch."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from functions.ingest.batch import take_batch
from functions.ingest.rankings import SCHEMA, parse_ranking
from leap_model.errors import FieldError
from leap_model.events import RANKING
from leap_model.limits import DAY_US
from tests.support import attempt
from tests.unit.ingest.deliveries import (
    NOW,
    MemoryStore,
    attempts,
    days,
    envelope,
    ids,
    ranking,
    rankings,
    rejected,
    sent,
    served,
)


def test_a_ranking_is_stored_with_its_parts_as_json_text() -> None:
    store = MemoryStore()
    take_batch(store, rankings(ranking()), NOW)
    (row,) = served(store)
    assert row["served_at"] == datetime(2026, 1, 2, 7, tzinfo=UTC)
    assert (row["ranking_id"], row["model_version"]) == ("r-1", "v1")
    for name in ("request", "answer", "features"):
        assert json.loads(row[name]) == ranking()[name]


def test_files_have_one_schema_also_where_everything_optional_is_null() -> None:
    store = MemoryStore()
    take_batch(store, rankings(ranking(model_version=None, features=None)), NOW)
    take_batch(store, rankings(ranking(ranking_id="r-2")), NOW)
    schemas = [pq.read_schema(pa.BufferReader(store.read(key))) for key in store.keys("rankings")]
    assert schemas == [SCHEMA, SCHEMA]
    bare = next(row for row in served(store) if row["ranking_id"] == "r-1")
    assert (bare["model_version"], bare["features"]) == (None, None)


def test_rankings_are_filed_by_the_utc_day_they_were_served_on() -> None:
    store = MemoryStore()
    times = ["2026-01-01T23:59:59.999999Z", "2026-01-02T00:00:00Z", "2026-01-01T23:30:00-08:00"]
    take_batch(
        store,
        rankings(*(ranking(ranking_id=time, served_at=time) for time in times)),
        NOW,
    )
    assert days(store, "rankings") == ["2026-01-01", "2026-01-02"]
    by_day = {
        key.split("/")[1]: len(pq.read_table(pa.BufferReader(store.read(key))))
        for key in store.keys("rankings")
    }
    assert by_day == {"dt=2026-01-01": 1, "dt=2026-01-02": 2}


def test_a_redelivered_batch_in_any_order_writes_nothing_twice() -> None:
    store = MemoryStore()
    batch = rankings(*(ranking(ranking_id=f"r-{at}") for at in range(5)))
    outcomes = [take_batch(store, each, NOW) for each in (batch, batch[::-1], batch + batch)]
    assert len(store.objects) == 1
    assert [outcome.rankings for outcome in outcomes] == [5, 0, 0]
    assert len(served(store)) == 5


def test_every_message_of_a_ranking_that_was_not_stored_comes_again() -> None:
    store = MemoryStore(fails=lambda key: "2026-01-02" in key)
    other = ranking(ranking_id="r-2", served_at="2026-01-01T07:00:00Z")
    outcome = take_batch(store, rankings(ranking(), ranking(), other), NOW)
    assert (outcome.failed(), outcome.rankings) == (["r1", "r2"], 1)


def test_a_day_ahead_is_a_day_ahead_of_the_message_whenever_it_is_tried() -> None:
    store = MemoryStore()
    batch = rankings(ranking(served_at="2026-01-03T09:00:00.000001Z"))
    for late in (0, 2 * DAY_US):
        take_batch(store, batch, NOW + late)
    assert (len(rejected(store)), store.keys("rankings")) == (1, [])


def test_two_rankings_under_one_id_are_both_kept() -> None:
    store = MemoryStore()
    take_batch(store, rankings(ranking(), ranking(model_version="v2")), NOW)
    assert sorted(row["model_version"] for row in served(store)) == ["v1", "v2"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"ranking_id": ""}, "ranking_id"),
        ({"ranking_id": 7}, "ranking_id"),
        ({"served_at": 1767225600}, "served_at"),
        ({"served_at": "2026-01-02T09:00:00"}, "served_at"),
        ({"served_at": "2014-12-31T23:59:59Z"}, "served_at"),
        ({"served_at": "2026-01-03T09:00:01Z"}, "served_at"),
        ({"model_version": 1}, "model_version"),
        ({"request": None}, "request"),
        ({"request": "{}"}, "request"),
        ({"answer": []}, "answer"),
        ({"answer": {"preference": [float("nan")]}}, "answer"),
        ({"request": {"batch_size": float("inf")}}, "request"),
        ({"features": []}, "features"),
        ({"features": {"columns": ["a"]}}, "features"),
        ({"features": {"columns": [1], "rows": []}}, "features"),
        ({"features": {"columns": ["a"], "rows": [1]}}, "features"),
        ({"features": {"columns": ["a"], "rows": [[1, 2]]}}, "features"),
        ({"features": {"columns": ["a"], "rows": [[float("nan")]]}}, "features"),
    ],
)
def test_a_ranking_that_breaks_a_rule_is_a_rejected_line(
    values: dict[str, Any], field: str
) -> None:
    store = MemoryStore()
    messages = [*rankings(ranking(**values)), *attempts(attempt())]
    outcome = take_batch(store, messages, NOW)
    (line,) = rejected(store)
    assert line["field"] == field
    assert line["body"] == messages[0].body.decode()
    assert (ids(store), store.keys("rankings"), outcome.failed()) == (["a-0001"], [], [])


@pytest.mark.parametrize("missing", ["ranking_id", "served_at", "request", "answer"])
def test_what_a_ranking_must_have_is_missed_by_name(missing: str) -> None:
    detail = ranking()
    del detail[missing]
    with pytest.raises(FieldError, match=f"^{missing} is missing"):
        parse_ranking(detail, NOW)


def test_a_ranking_nested_deeper_than_python_goes_is_rejected() -> None:
    store = MemoryStore()
    deep = envelope(ranking(), RANKING).replace('"fast-8"', "[" * 900 + "]" * 900)
    outcome = take_batch(store, [sent(deep)], NOW)
    assert outcome.failed() == []
    assert len(served(store)) + len(rejected(store)) == 1
