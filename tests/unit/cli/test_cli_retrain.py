"""leap retrain, backtest and simulate: what is printed, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.learning import presets
from functions.retrain.learning.single import Single
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.cli.commands import document, refused, succeeded

AS_OF = ("--as-of", "2026-01-11")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own estimators take their time."""
    monkeypatch.setattr(
        presets,
        "ESTIMATORS",
        {
            "network": Single(name="network", trees=3, leaves=6),
            "single": Single(trees=4, leaves=6),
            "plain": Single(name="plain", trees=2),
        },
    )


@pytest.fixture(scope="module")
def attempts() -> list[dict[str, Any]]:
    entries = fleet(320)
    entries[100]["hardware_type"] = "proto[/x]type"
    return entries


@pytest.fixture
def full(store: LocalStore, attempts: list[dict[str, Any]]) -> LocalStore:
    return filled(store.root, [a for a in attempts if a["hardware_type"] != "proto[/x]type"])


def test_retrain_prints_its_metrics_as_json(full: LocalStore) -> None:
    metrics = document("retrain", "--store", full, *AS_OF)
    kept = full.read(f"reports/throughput/{metrics['version']}/metrics.json")
    assert json.loads(kept or b"") == metrics
    assert metrics["pointed"]
    assert metrics["window"]["from"] == "2025-12-11"


def test_retrain_tells_a_person_what_it_did(full: LocalStore) -> None:
    (full.root / "attempts/dt=2026-01-05/bad.parquet").write_bytes(b"junk")
    text = succeeded("retrain", "--store", full, *AS_OF, "--window-days", "12")
    assert "from 2025-12-29 to 2026-01-09 (3 days without attempts)" in text
    assert "judged on" in text
    assert "left out attempts/dt=2026-01-05/bad.parquet" in text
    assert "stage local points at it" in text
    (version,) = {key.split("/")[2] for key in full.keys("models")}
    assert f"version {version}" in text


def test_a_test_run_says_that_it_does_not_point(full: LocalStore) -> None:
    text = succeeded("retrain", "--store", full, *AS_OF, "--test-run")
    assert "stage local does not point at it: a test run never points" in text


def test_a_stage_of_one_s_own_is_pointed_at(full: LocalStore) -> None:
    succeeded("retrain", "--store", full, *AS_OF, "--stage", "dev", "--force")
    assert document("pointer", "show", "--store", full, "--stage", "dev")["as_of"] == "2026-01-11"


def test_unknown_hardware_is_printed_as_it_is(
    store: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    filled(store.root, attempts)
    text = succeeded("retrain", "--store", store, *AS_OF)
    assert "1 attempts ran on proto[/x]type" in text


@pytest.mark.parametrize(
    "options",
    [
        *(("--as-of", "yesterday"), ("--as-of", "2026-02-30"), ("--as-of", "")),
        *(("--as-of", "2026-01-01"), ("--as-of", "1000-01-01"), ("--window-days", "0")),
        *(("--window-days", "x"), ("--target", "cost"), ("--estimator", "oracle")),
        *(("--stage", "a/b"), ("--stage", ".."), ("--nonsense",)),
        ("--as-of", "2027-06-01", "--stage", "local", "--window-days", "1", "--target", ""),
    ],
    ids=" ".join,
)
def test_retrain_refuses_bad_options_in_one_line(
    full: LocalStore, options: tuple[str, ...]
) -> None:
    refused("retrain", "--store", full, *options)
    assert full.keys("models") == []


def test_retrain_refuses_stores_that_cannot_train_in_one_line(tmp_path: Path) -> None:
    assert "does not exist" in refused("retrain", "--store", tmp_path / "missing")
    assert "catalogue" in refused("retrain", "--store", tmp_path)
    store = filled(tmp_path, fleet(20))
    line = refused("retrain", "--store", store, *AS_OF, "--window-days", "1")
    assert line.startswith("Error: 2 attempts with a usable throughput")
    assert "at least 200" in refused("retrain", "--store", store, *AS_OF)


def test_backtest_prints_nights_and_medians(full: LocalStore) -> None:
    options = ("--nights", 2, "--compare", "family-median-else-model, without-history")
    result = document("backtest", "--store", full, *options)
    assert [night["as_of"] for night in result["nights"]] == ["2026-01-09", "2026-01-10"]
    assert set(result["comparators"]) == {"family-median-else-model", "without-history"}
    assert result["median"].keys() == {"w5", "w10", "w15", "w20", "mdape", "ratio"}
    text = succeeded("backtest", "--store", full, *options)
    assert "throughput, median of 2 nights" in text


def test_backtest_of_days_without_attempts_prints_no_figures(full: LocalStore) -> None:
    text = succeeded("backtest", "--store", full, "--nights", 1, "--from", "2026-01-20")
    assert "–" in text


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--nights", "0"),
        ("--nights", "2", "--compare", "oracle"),
        ("--nights", "2", "--from", "soon"),
        ("--nights", "2", "--horizon-days", "0"),
        ("--nights", "2", "--from", "2025-01-01"),
        ("--nights", "2", "--from", "9999-12-31"),
        ("--nights", "2", "--from", "0001-01-01"),
    ],
    ids=" ".join,
)
def test_backtest_refuses_bad_options_in_one_line(
    full: LocalStore, options: tuple[str, ...]
) -> None:
    refused("backtest", "--store", full, *options)


def test_simulate_writes_a_fleet_and_says_what_it_holds(tmp_path: Path) -> None:
    out = tmp_path / "fleet"
    summary = document("simulate", out, "--days", 2, "--per-day", 30, "--seed", 4)
    assert (summary["attempts"], summary["days"], len(summary["files"])) == (60, 2, 2)
    assert all(Path(name).is_file() for name in (*summary["files"], summary["catalogue"]))
    text = succeeded("simulate", tmp_path / "other", "--days", 1, "--per-day", 30)
    assert text.startswith("30 attempts")


@pytest.mark.parametrize(
    "options",
    [
        ("--days", "0", "--per-day", "5"),
        ("--days", "2", "--per-day", "0"),
        ("--days", "2"),
        ("--days", "2", "--per-day", "5", "--seed", "-1"),
        ("--days", "2", "--per-day", "5", "--start", "soon"),
        ("--days", "2", "--per-day", "5", "--start", "9999-12-31"),
    ],
    ids=" ".join,
)
def test_simulate_refuses_bad_options_in_one_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    refused("simulate", tmp_path / "fleet", *options)


def test_simulate_refuses_a_folder_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    line = refused("simulate", tmp_path, "--days", 1, "--per-day", 5)
    assert "new or an empty folder" in line
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
