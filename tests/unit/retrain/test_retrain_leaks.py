"""No figure of a night may owe anything to what it is judged on, nor history to the future."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from functions.retrain.training import history_at_launch
from leap_model.history import History
from leap_model.limits import DAY_US
from leap_model.store import LocalStore
from leap_model.times import start_of
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import (
    AS_OF,
    add,
    history_of,
    night,
    outcomes,
    put_attempts,
    rows_between,
)

JUDGED, WINDOW_START, FIRST = "2026-01-10", "2026-01-01", date(2026, 1, 1)
Attempts = list[dict[str, Any]]


def _poisoned(attempts: Attempts, chosen: Any) -> Attempts:
    return [{**a, "throughput": a["throughput"] * 1000} if chosen(a) else a for a in attempts]


def _learnt(store: LocalStore, metrics: dict[str, Any]) -> dict[str, bytes | None]:
    """What training decided: every file of the artifact but the snapshot and the manifest."""
    prefix = f"models/throughput/{metrics['version']}"
    files = {key.removeprefix(f"{prefix}/"): store.read(key) for key in store.keys(prefix)}
    return {
        name: content
        for name, content in files.items()
        if not name.startswith("history/") and name != "manifest.json"
    }


BOTH = pytest.mark.parametrize("families", ["apart", "recurring"])
"""Fleets whose every attempt is a family of its own, and fleets with history."""


@pytest.fixture(scope="module")
def attempts() -> Attempts:
    return fleet(320)


def _apart(attempts: Attempts) -> Attempts:
    return [{**a, "job_family": a["attempt_id"]} for a in attempts]


def _learnt_from(store: LocalStore, attempts: Attempts, families: str) -> dict[str, bytes | None]:
    filled(store.root, _apart(attempts) if families == "apart" else attempts)
    return _learnt(store, night(store))


@pytest.fixture(scope="module")
def plain(
    attempts: Attempts, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, bytes | None]]:
    learnt = {
        families: _learnt_from(LocalStore(tmp_path_factory.mktemp(families)), attempts, families)
        for families in ("apart", "recurring")
    }
    assert {"model.json", "schema.json", "forests/regressor.forest"} <= learnt["apart"].keys()
    return learnt


Plain = dict[str, dict[str, bytes | None]]


@BOTH
def test_labels_of_the_evaluation_day_do_not_change_the_model(
    store: LocalStore, attempts: Attempts, plain: Plain, families: str
) -> None:
    poisoned = _poisoned(attempts, lambda a: a["completed_at"][:10] == JUDGED)
    assert poisoned != attempts
    assert _learnt_from(store, poisoned, families) == plain[families]


@BOTH
def test_without_the_evaluation_day_s_rows_the_model_is_the_same(
    store: LocalStore, attempts: Attempts, plain: Plain, families: str
) -> None:
    kept = [a for a in attempts if a["completed_at"][:10] != JUDGED]
    judged = attempt(attempt_id="only", completed_at=f"{JUDGED}T01:00:00Z", throughput=1.0)
    assert _learnt_from(store, [*kept, judged], families) == plain[families]


@BOTH
def test_evaluation_rows_in_a_folder_of_the_window_do_not_change_the_model(
    store: LocalStore, attempts: Attempts, plain: Plain, families: str
) -> None:
    chosen = _apart(attempts) if families == "apart" else attempts
    judged = [a for a in chosen if a["completed_at"][:10] == JUDGED]
    filled(store.root, [a for a in chosen if a not in judged])
    put_attempts(store, "2026-01-05", "misfiled.parquet", _poisoned(judged, bool))
    add(store, [attempt(attempt_id="only", completed_at=f"{JUDGED}T01:00:00Z")])
    assert _learnt(store, night(store)) == plain[families]


def test_labels_of_the_window_do_change_the_model(
    store: LocalStore, attempts: Attempts, plain: Plain
) -> None:
    poisoned = _poisoned(attempts, lambda a: a["completed_at"][:10] == "2026-01-09")
    assert _learnt_from(store, poisoned, "apart") != plain["apart"]


def test_the_evaluation_day_is_known_to_the_snapshot_that_ships(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, attempts)
    first = night(store)
    key = f"models/throughput/{first['version']}/history/last_completed_at.npy"
    assert (np.load(store.folder(key)) >= start_of(AS_OF) - DAY_US).any()


def _histories(store: LocalStore) -> tuple[Any, History]:
    rows = rows_between(store, FIRST, AS_OF)
    return rows, history_at_launch(rows.jobs, outcomes(store, AS_OF))


def _matrix(history: History) -> Any:
    parts = (history.last, history.mean, history.std, history.runs, history.last_completed_at)
    return np.column_stack([np.asarray(part, np.float64) for part in parts])


def _before_and_after_poison(
    store: LocalStore, attempts: Attempts, day: int
) -> tuple[Any, Any, Any]:
    """Rows launched before the end of a day, and all histories, when later outcomes change."""
    moment = FIRST + timedelta(days=day)
    clean = filled(store.root / "clean", attempts)
    poisoned = _poisoned(attempts, lambda a: a["completed_at"][:10] >= moment.isoformat())
    rows, before = _histories(clean)
    _, after = _histories(filled(store.root / "dirty", poisoned))
    blind = rows.jobs.launched_at < start_of(moment + timedelta(days=1))
    return blind, _matrix(before), _matrix(after)


@pytest.mark.parametrize("day", [1, 4, 8])
def test_outcomes_from_a_row_s_launch_day_on_do_not_change_its_history(
    store: LocalStore, attempts: Attempts, day: int
) -> None:
    blind, before, after = _before_and_after_poison(store, attempts, day)
    assert blind.any()
    np.testing.assert_allclose(before[blind], after[blind], rtol=1e-6, atol=1e-6)
    assert not np.allclose(before[~blind], after[~blind], rtol=1e-2, equal_nan=True)


@pytest.mark.parametrize("day", [1, 4, 8])
def test_later_outcomes_do_not_change_a_digit_of_a_history(
    store: LocalStore, attempts: Attempts, day: int
) -> None:
    blind, before, after = _before_and_after_poison(store, attempts, day)
    np.testing.assert_array_equal(before[blind], after[blind])


def test_a_history_is_the_same_to_the_digit_among_other_families(store: LocalStore) -> None:
    same = [
        attempt(attempt_id=f"s{at}", job_family="same", throughput=(100.0, 250.0)[at % 2])
        for at in range(6)
    ]
    others = [
        attempt(attempt_id=f"o{at}", job_family=f"o{at % 40}", throughput=10.0 ** (at % 9 - 3))
        for at in range(400)
    ]
    alone = filled(store.root / "alone", same)
    among = filled(store.root / "among", [*same, *others])
    launch = "2026-01-05T00:00:00Z"
    expected = _matrix(history_of(alone, "same", launch)).tolist()
    assert _matrix(history_of(among, "same", launch)).tolist() == expected


@pytest.mark.parametrize("launched_at", ["2026-01-05T08:00:00Z", "2026-01-09T00:00:00Z", None])
def test_an_attempt_is_never_in_its_own_history(store: LocalStore, launched_at: str | None) -> None:
    own = attempt(completed_at="2026-01-05T10:00:00Z", launched_at=launched_at)
    filled(store.root, [own])
    _, history = _histories(store)
    assert history.runs.tolist() == [0.0]


def test_a_run_of_yesterday_is_history_and_one_of_this_morning_is_not(store: LocalStore) -> None:
    filled(
        store.root,
        [
            attempt(attempt_id="a", completed_at="2026-01-04T23:59:59Z"),
            attempt(attempt_id="b", completed_at="2026-01-05T00:00:00Z"),
            attempt(attempt_id="c", completed_at="2026-01-05T12:00:00Z"),
            attempt(attempt_id="d", completed_at="2026-01-06T00:00:00Z"),
        ],
    )
    _, history = _histories(store)
    assert history.runs.tolist() == [0.0, 1.0, 1.0, 3.0]


def test_families_do_not_mix(store: LocalStore) -> None:
    runs = [("A", 1.0), ("A", 2.0), ("B", 100.0), ("B", 200.0)]
    filled(
        store.root,
        [
            attempt(
                attempt_id=str(at),
                job_family=family,
                throughput=rate,
                completed_at=f"2026-01-0{at % 2 + 2}T08:00:00Z",
            )
            for at, (family, rate) in enumerate(runs)
        ],
    )
    _, history = _histories(store)
    assert np.exp(history.mean).tolist() == pytest.approx([np.nan, 1, np.nan, 100], nan_ok=True)
