"""An attempt counts once, however often and wherever it arrives."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from leap_model.store import LocalStore
from tests.support import attempt, filled, fleet
from tests.unit.ranking.hand_made import history_row
from tests.unit.retrain.nights import (
    AS_OF,
    add,
    history_of,
    night,
    outcomes,
    put_attempts,
    rows_between,
)

FIRST, END = date(2026, 1, 1), date(2026, 2, 1)
RUNS = [
    attempt(attempt_id="one", throughput=100.0, completed_at="2026-01-02T08:00:00Z"),
    attempt(attempt_id="two", throughput=400.0, completed_at="2026-01-03T08:00:00Z"),
]
LAUNCH = "2026-01-09T00:00:00Z"


def _history(store: LocalStore) -> tuple[float, float, float, float]:
    return history_row(history_of(store, "resnet50", LAUNCH), 0)


@pytest.fixture
def runs(store: LocalStore) -> LocalStore:
    return filled(store.root, RUNS)


def test_the_history_of_two_runs(runs: LocalStore) -> None:
    logs = np.log([100, 400])
    expected = (logs[1], logs.mean(), logs.std(), 2)
    assert _history(runs) == pytest.approx(expected)


def test_a_batch_delivered_again_stores_nothing(runs: LocalStore) -> None:
    before = runs.keys("attempts")
    counts = add(runs, RUNS)
    assert (counts.read, counts.stored, counts.duplicates) == (2, 0, 2)
    assert runs.keys("attempts") == before


def _again(store: LocalStore) -> None:
    add(store, RUNS)


def _in_another_batch(store: LocalStore) -> None:
    add(store, [RUNS[1], attempt(attempt_id="three", throughput=None)])


def _twice_in_a_batch(store: LocalStore) -> None:
    add(store, [RUNS[0], RUNS[0], RUNS[1]])


def _past_the_check(store: LocalStore) -> None:
    put_attempts(store, "2026-01-02", "replay.parquet", [RUNS[0], RUNS[0]])
    put_attempts(store, "2026-01-03", "replay.parquet", [RUNS[1]])


def _under_another_day(store: LocalStore) -> None:
    put_attempts(store, "2026-01-05", "replay.parquet", RUNS)


@pytest.mark.parametrize(
    "replay", [_again, _in_another_batch, _twice_in_a_batch, _past_the_check, _under_another_day]
)
def test_a_replay_changes_neither_rows_nor_history(runs: LocalStore, replay: Any) -> None:
    before = _history(runs)
    replay(runs)
    assert len(rows_between(runs, FIRST, END).usable()) == 2
    assert len(outcomes(runs, END).completed_at) == 2
    assert _history(runs) == before


@pytest.mark.parametrize("completed_at", ["2026-01-03T09:00:00Z", "2026-01-05T00:00:00Z"])
@pytest.mark.parametrize("first", ["correction", "original"])
def test_of_two_records_the_one_that_completed_later_counts(
    store: LocalStore, completed_at: str, first: str
) -> None:
    correction = {**RUNS[1], "throughput": 900.0, "completed_at": completed_at}
    order = [[correction], RUNS] if first == "correction" else [RUNS, [correction]]
    filled(store.root, order[0])
    add(store, order[1])
    rows = rows_between(store, FIRST, END)
    assert sorted(rows.measured) == [100.0, 900.0]
    last, *_, runs = _history(store)
    assert (np.exp(last), runs) == (pytest.approx(900), 2)


def test_a_correction_in_one_batch_counts_once(store: LocalStore) -> None:
    correction = {**RUNS[1], "throughput": 900.0, "completed_at": "2026-01-04T08:00:00Z"}
    filled(store.root, [])
    counts = add(store, [correction, *RUNS])
    assert (counts.read, counts.stored, counts.duplicates) == (3, 2, 1)
    assert sorted(rows_between(store, FIRST, END).measured) == [100.0, 900.0]


def test_of_two_records_of_one_moment_the_same_counts_in_any_order(store: LocalStore) -> None:
    other = {**RUNS[0], "throughput": 120.0}
    kept = set()
    for name, order in (("a", [RUNS[0], other]), ("b", [other, RUNS[0]])):
        own = filled(store.root / name, order[:1])
        add(own, order[1:])
        together = filled(store.root / f"{name}-together", order)
        kept |= {tuple(rows_between(s, FIRST, END).measured) for s in (own, together)}
    assert len(kept) == 1


def test_a_correction_without_a_throughput_takes_the_run_out(runs: LocalStore) -> None:
    add(runs, [{**RUNS[1], "throughput": None, "completed_at": "2026-01-03T09:00:00Z"}])
    assert list(rows_between(runs, FIRST, END).usable().measured) == [100.0]
    assert _history(runs)[3] == 1


def test_a_correction_after_the_date_of_the_run_is_not_known_to_it(runs: LocalStore) -> None:
    add(runs, [{**RUNS[1], "throughput": 900.0, "completed_at": "2026-01-20T00:00:00Z"}])
    assert sorted(np.exp(outcomes(runs, AS_OF).log_value)) == pytest.approx([100, 400])
    assert sorted(np.exp(outcomes(runs, END).log_value)) == pytest.approx([100, 900])


def test_counters_equal_a_rebuild_on_every_later_night(store: LocalStore) -> None:
    attempts = fleet(260)
    filled(store.root, attempts)
    nights = [night(store), night(store), night(store, AS_OF + timedelta(days=1))]
    fresh = filled(store.root / "fresh", attempts)
    rebuilt = night(fresh, AS_OF + timedelta(days=1))
    assert nights[0]["version"] == nights[1]["version"]
    assert nights[2]["manifest_sha256"] == rebuilt["manifest_sha256"]


def test_an_attempt_corrected_on_the_evaluation_day_is_neither_trained_on_nor_judged(
    store: LocalStore,
) -> None:
    attempts = fleet(260)
    filled(store.root, attempts)
    plain = night(store)
    add(store, [{**attempts[100], "completed_at": "2026-01-10T12:00:00Z"}])
    corrected = night(store)
    assert corrected["evaluation"]["attempts"] == plain["evaluation"]["attempts"]
    assert corrected["rows"] == plain["rows"] - 1
