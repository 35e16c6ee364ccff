"""The gate: a night that is worse than what is live is published, and not pointed at."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from functions.retrain.learning.single import Single
from functions.retrain.live import Live
from functions.retrain.pointing import why_not
from leap_model.artifact import load
from leap_model.store import LocalStore
from tests.unit.retrain.nights import (
    LATER,
    LATEST,
    TINY,
    add,
    night,
    published_and_pointed,
    serving,
    versions,
)

GOOD = replace(TINY, estimator=Single(trees=40, leaves=6, learning_rate=0.5))
BAD = replace(TINY, estimator=Single(trees=1, leaves=2, learning_rate=0.05))
"""A model of this is far below one of GOOD."""


def _evaluation(w20: float | None, attempts: int = 100) -> dict[str, Any]:
    return {"from": "2026-01-10", "attempts": attempts, "w20": w20}


def _live(w20: float) -> Live:
    return Live("v-live", "2026-01-10", _evaluation(w20), None)


def _reason(own: float, theirs: float, margin: float) -> str | None:
    return why_not(_evaluation(own), _live(theirs), margin, test_run=False, force=False)


@pytest.mark.parametrize(
    ("own", "theirs", "margin"),
    [
        (0.86, 0.90, 0.03),
        (0.8699, 0.90, 0.03),
        (0.899, 0.90, 0.0),
        (0.0, 1.0, 0.999),
        (0.0, 0.031, 0.03),
    ],
)
def test_worse_by_more_than_the_margin_is_held_up(own: float, theirs: float, margin: float) -> None:
    assert _reason(own, theirs, margin) is not None


def test_the_reason_names_both_figures_the_margin_and_the_way_out() -> None:
    assert _reason(0.7251, 0.9, 0.03) == (
        "w20 of 2026-01-10 is 72.5 %, and 90.0 % with the live v-live: worse by more than 3.0 %; "
        "--force points anyway"
    )
    assert _reason(0.0, 1.0, 0.0) == (
        "w20 of 2026-01-10 is 0.0 %, and 100.0 % with the live v-live: worse by more than 0.0 %; "
        "--force points anyway"
    )


@pytest.mark.parametrize(
    ("own", "theirs", "margin"),
    [
        *((0.87, 0.90, 0.03), (0.47, 0.50, 0.03), (0.55, 0.58, 0.03), (0.2, 0.3, 0.1)),
        *((0.9, 0.9, 0.0), (0.9, 0.9, 0.03), (0.95, 0.9, 0.0), (1.0, 0.0, 0.0)),
        *((0.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    ],
)
def test_worse_by_the_margin_equal_or_better_is_pointed_at(
    own: float, theirs: float, margin: float
) -> None:
    assert _reason(own, theirs, margin) is None


@pytest.mark.parametrize("attempts", [3, 7, 29, 97, 1_234, 99_991])
def test_one_attempt_more_than_the_margin_decides(attempts: int) -> None:
    allowed = attempts // 3
    own = (attempts - allowed) / attempts
    assert _reason(own, 1.0, allowed / attempts) is None
    assert _reason(own - 1 / attempts, 1.0, allowed / attempts) is not None


@pytest.mark.parametrize(
    "live", [None, Live("v-live", "2026-01-10", None, "it does not load: no manifest")]
)
def test_without_figures_of_a_live_model_nothing_is_held_up(live: Live | None) -> None:
    assert why_not(_evaluation(0.0), live, 0.0, test_run=False, force=False) is None


def test_a_day_without_usable_attempts_judges_nobody() -> None:
    for live in (None, Live("v-live", "2026-01-10", _evaluation(None, 0), None)):
        reason = why_not(_evaluation(None, 0), live, 1.0, test_run=False, force=False)
        assert reason == "2026-01-10 has no usable attempt to evaluate on; --force points anyway"
        assert why_not(_evaluation(None, 0), live, 1.0, test_run=False, force=True) is None


def test_force_points_whatever_the_figures() -> None:
    assert why_not(_evaluation(0.0), _live(1.0), 0.0, test_run=False, force=True) is None


@pytest.mark.parametrize("force", [False, True])
def test_a_test_run_never_points(force: bool) -> None:
    reason = why_not(_evaluation(1.0), None, 1.0, test_run=True, force=force)
    assert reason == "a test run never points"


def test_a_worse_night_is_published_and_not_pointed_at(full: LocalStore) -> None:
    live = night(full, settings=GOOD)
    worse = night(full, LATER, BAD)
    assert published_and_pointed(worse) == (True, False)
    own, theirs = worse["evaluation"]["w20"], live["evaluation"]["w20"]
    assert own < theirs - 0.03
    assert worse["reason"] == (
        f"w20 of 2026-01-10 is {own * 100:.1f} %, and {theirs * 100:.1f} % with the live "
        f"{live['version']}: worse by more than 3.0 %; --force points anyway"
    )
    assert serving(full) == live["version"]
    load(full.folder(f"models/throughput/{worse['version']}"), worse["manifest_sha256"])
    kept = full.read(f"reports/throughput/{worse['version']}/metrics.json")
    assert json.loads(kept or b"") == worse
    assert versions(full) == [live["version"]]


@pytest.mark.parametrize(("margin", "force"), [(0.0, True), (1.0, False)])
def test_a_worse_night_is_pointed_at_by_force_or_within_its_margin(
    full: LocalStore, margin: float, force: bool
) -> None:
    night(full, settings=GOOD)
    worse = night(full, LATER, replace(BAD, gate_margin=margin), force=force)
    assert published_and_pointed(worse) == (True, True)
    assert worse["reason"] is None
    assert serving(full) == worse["version"]


def test_a_night_that_is_as_good_is_pointed_at_without_any_margin(full: LocalStore) -> None:
    strict = replace(TINY, gate_margin=0.0)
    first, second = night(full, settings=strict), night(full, LATER, strict)
    assert first["evaluation"] == second["evaluation"]
    assert second["pointed"]
    assert versions(full) == [first["version"], second["version"]]


def test_a_better_night_is_pointed_at(full: LocalStore) -> None:
    night(full, settings=BAD)
    better = night(full, LATER, replace(GOOD, gate_margin=0.0))
    assert serving(full) == better["version"]


def test_after_a_worse_night_the_next_is_held_against_the_model_still_live(
    full: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    live = night(full, settings=GOOD)
    night(full, LATER, BAD)
    add(full, _on(attempts[-32:], 11))
    next_night = night(full, LATER, BAD)
    assert next_night["evaluation"]["from"] == "2026-01-11"
    assert next_night["live"]["version"] == live["version"]
    assert not next_night["pointed"]
    assert night(full, LATEST, GOOD)["pointed"]


def _on(attempts: Sequence[dict[str, Any]], day: int) -> list[dict[str, Any]]:
    """Attempts of 2026-01-10 again on another day of January."""
    return [
        {
            **entry,
            "attempt_id": f"{entry['attempt_id']}-{day}",
            "launched_at": f"2026-01-{day}T08:00:00Z",
            "completed_at": f"2026-01-{day}T10:00:00Z",
        }
        for entry in attempts
    ]


def test_the_gate_compares_on_the_same_attempts(
    full: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    first = night(full, settings=GOOD)
    harder = [{**a, "throughput": a["throughput"] * 3} for a in _on(attempts[-20:], 11)]
    unmeasured = [{**a, "throughput": None} for a in _on(attempts[-32:-20], 11)]
    add(full, [*harder, *unmeasured])
    second = night(full, LATER, GOOD)
    mine, theirs = second["evaluation"], second["live"]["evaluation"]
    assert (mine["from"], mine["attempts"], theirs["attempts"]) == ("2026-01-11", 20, 20)
    for part in ("by_hardware", "by_model_type"):
        counts = [
            {name: entry["attempts"] for name, entry in figures[part].items()}
            for figures in (mine, theirs)
        ]
        assert counts[0] == counts[1]
    # A harder day is no worse model: yesterday's figure plays no part.
    assert mine["w20"] < first["evaluation"]["w20"] - 0.03
    assert second["pointed"]


def test_a_live_model_that_does_not_load_holds_nothing_up(full: LocalStore) -> None:
    live = night(full, settings=GOOD)
    (full.root / f"models/throughput/{live['version']}/model.json").unlink()
    worse = night(full, LATER, BAD)
    assert worse["pointed"]
    assert worse["live"]["evaluation"] is None


def test_a_day_without_usable_attempts_points_by_force_only(
    full: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    live = night(full)
    add(full, [{**a, "throughput": None} for a in _on(attempts[-5:], 11)])
    blind = night(full, LATER)
    assert published_and_pointed(blind) == (True, False)
    assert "2026-01-11 has no usable attempt" in blind["reason"]
    assert blind["live"]["evaluation"]["attempts"] == 0
    assert serving(full) == live["version"]
    assert night(full, LATER, force=True)["pointed"]


def test_a_test_run_leaves_pointer_and_record(full: LocalStore) -> None:
    first = night(full, settings=BAD)
    assert night(full, LATER, GOOD, test_run=True)["reason"] == "a test run never points"
    assert versions(full) == [first["version"]] == [serving(full)]
