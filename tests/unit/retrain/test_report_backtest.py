"""The page of a backtest: every night and method, sound whatever its nights lack."""

import copy
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.backtest import Plan, backtest
from functions.retrain.report.backtest_page import backtest_page, pooled
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.cli.commands import document, refused
from tests.unit.retrain.nights import TINY
from tests.unit.retrain.pages import sound

COMPARED = ("family-median", "lookup-table")


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return filled(tmp_path_factory.mktemp("past"), fleet(320))


@pytest.fixture(scope="module")
def result(past: LocalStore) -> Any:
    return backtest(past, replace(TINY, window_days=30), Plan(nights=3, compare=COMPARED))


def test_every_night_and_method_is_told(result: Any) -> None:
    page = sound(backtest_page(result))
    for name in ("single", *COMPARED, *(night["as_of"] for night in result["nights"])):
        assert name in page.said
    for night in result["comparators"]["family-median"]["nights"]:
        if night["w20"] is not None:
            assert f"{night['w20'] * 100:.1f} %" in page.text
    assert "Within 20 % by night" in page.text
    assert all("svg" in parts for parts in page.figures)
    assert backtest_page(copy.deepcopy(result)) == backtest_page(result)


def test_all_attempts_of_all_nights_are_drawn(result: Any) -> None:
    attempts = sum(night["attempts"] for night in result["nights"])
    told = result["described"]
    cells = told["predicted_against_measured"]
    assert sum(count for *_, count in cells["cells"]) + cells["outside"] == attempts
    assert sum(tenth["attempts"] for tenth in told["calibration"]) == attempts
    assert sum(part["attempts"] for part in told["measured_by_hardware"].values()) == attempts
    whole = pooled(result["nights"], "by_hardware")
    assert sum(part["attempts"] for part in whole.values()) == attempts
    hits = sum(night["w20"] * night["attempts"] for night in result["nights"])
    assert sum(p["w20"] * p["attempts"] for p in whole.values()) == pytest.approx(hits)


def test_nights_without_attempts_have_a_page(past: LocalStore) -> None:
    plan = Plan(nights=1, first=date(2026, 1, 20), compare=COMPARED)
    page = sound(backtest_page(backtest(past, replace(TINY, window_days=30), plan)))
    assert "unknown" in page.text
    assert "None" not in page.said


def test_many_methods_and_nights_stay_readable_and_small(result: Any) -> None:
    nights = [
        night | {"as_of": f"2026-{1 + at // 28:02}-{1 + at % 28:02}"}
        for at, night in enumerate(result["nights"] * 80)
    ]
    entry = {"nights": nights, "median": result["median"]}
    many = result | {"nights": nights, "comparators": {f"method {at}": entry for at in range(12)}}
    text = backtest_page(many)
    page = sound(text)
    assert "The first 8 methods are drawn" in page.said
    assert len(text) < 300_000


@pytest.mark.usefixtures("small_estimators")
def test_the_command_writes_it_where_asked(
    past: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.retrain.learning import presets
    from tests.unit.retrain.leaks import ESTIMATORS

    monkeypatch.setattr(presets, "ESTIMATORS", ESTIMATORS)
    target = tmp_path / "page.html"
    target.write_text("old")
    plain = document("backtest", "--store", past, "--nights", 1)
    written = document("backtest", "--store", past, "--nights", 1, "--report", target)
    assert written == plain
    sound(target.read_text(encoding="utf-8"))


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_trained(
    past: LocalStore, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere" / "page.html"
    line = refused("backtest", "--store", past, "--nights", 1, "--report", nowhere)
    assert "nowhere is no folder" in line
    refused("backtest", "--store", past, "--nights", 1, "--report", tmp_path)
