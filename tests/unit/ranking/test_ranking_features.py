"""Too little of what training always had, and what the snapshot tells of a family."""

from typing import Any

import pytest

from leap_model.limits import DAY_US
from leap_model.times import parse_time
from tests.support import checked, excluded, preferred
from tests.unit.ranking.hand_made import (
    answer_to,
    hand_made,
    hardware,
    job,
    ranker_of,
    rates,
    snapshot_of,
)

TYPES = [hardware("a"), hardware("b", 50)]


def _asked_for(count: int, given: int) -> dict[str, Any]:
    names = tuple(f"config.k{at}" for at in range(count))
    config = {f"k{at}": at for at in range(given)}
    return answer_to(hand_made(TYPES, required=names), ["a", "b"], job=job(config=config))


@pytest.mark.parametrize("count", [5, 10, 15, 35, 95, 100])
def test_exactly_a_fifth_of_the_columns_may_be_missing(count: int) -> None:
    assert checked(_asked_for(count, count - count // 5))["reason"] is None
    answer = checked(_asked_for(count, count - count // 5 - 1))
    assert (answer["preference"], answer["reason"]) == ([], "missing_feature")
    assert answer["model_version"] == "v1"


def test_of_four_columns_none_may_be_missing() -> None:
    assert checked(_asked_for(4, 4))["reason"] is None
    assert checked(_asked_for(4, 3))["reason"] == "missing_feature"


@pytest.mark.parametrize(
    ("config", "architecture", "reason"),
    [
        ({"x": 1}, {"y": 2}, None),
        ({"x": "text"}, {"y": 0}, None),
        ({"x": False}, {"y": 2}, None),
        ({"x": None}, {"y": 2}, "missing_feature"),
        ({"x": {"nested": 1}}, {"y": 2}, "missing_feature"),
        ({"x": 1}, {"y": None}, "missing_feature"),
        ({"x": 1, "y": 2}, {}, "missing_feature"),
        (None, None, "missing_feature"),
    ],
)
def test_a_null_or_a_nested_value_is_missing_and_zero_is_not(
    config: Any, architecture: Any, reason: str | None
) -> None:
    artifact = hand_made(TYPES, required=("config.x", "architecture.y"))
    asked = job(config=config, architecture=architecture)
    assert checked(answer_to(artifact, ["a"], job=asked))["reason"] == reason


def test_what_the_candidates_bring_is_there() -> None:
    artifact = hand_made(TYPES, required=("config.x",))
    brought = {"hardware_type": "a", "config": {"x": 1}}
    assert preferred(checked(answer_to(artifact, [brought]))) == ["a"]


def test_excluded_candidates_are_named_beside_missing_feature() -> None:
    answer = checked(answer_to(hand_made(TYPES, required=("config.x",)), ["moon", "a"]))
    assert (answer["reason"], excluded(answer)) == (
        "missing_feature",
        [("moon", "unknown_hardware")],
    )


def test_a_model_that_needs_nothing_misses_nothing() -> None:
    assert checked(answer_to(hand_made(TYPES), ["a"]))["reason"] is None


LAST = parse_time("2026-01-02T10:00:00Z")
SNAPSHOT = snapshot_of({"once": [(LAST, 8.0)], "often": [(LAST - DAY_US, 2.0), (LAST, 8.0)]})


@pytest.mark.parametrize(
    ("launched_at", "days"),
    [
        ("2026-01-02T09:00:00Z", 0.0),
        ("2026-01-02T10:00:00Z", 0.0),
        ("2026-01-02T15:30:00+05:30", 0.0),
        ("2026-01-02T16:00:00Z", 0.25),
        ("2026-01-12T10:00:00Z", 10.0),
        ("2026-01-12T22:00:00Z", 10.5),
    ],
)
def test_days_since_the_last_run_grow_with_the_launch_and_are_never_negative(
    launched_at: str, days: float
) -> None:
    artifact = hand_made(TYPES, "history.days_since_last", offset=1.0, snapshot=SNAPSHOT)
    asked = job(job_family="once")
    assert rates(artifact, ["a"], job=asked, launched_at=launched_at) == {"a": days + 1}


@pytest.mark.parametrize(("family", "cold"), [("once", False), ("often", False), ("never", True)])
def test_an_answer_says_whether_the_family_starts_cold(family: str, cold: bool) -> None:
    artifact = hand_made(TYPES, snapshot=SNAPSHOT)
    answer = checked(answer_to(artifact, ["a"], job=job(job_family=family)))
    assert answer["cold_start"] is cold


def test_the_family_is_derived_from_the_name_where_the_launcher_gives_none() -> None:
    artifact = hand_made(TYPES, snapshot=snapshot_of({"ctr-tower": [(LAST, 8.0)]}))
    assert answer_to(artifact, ["a"], job=job())["cold_start"] is False
    assert answer_to(artifact, ["a"], job=job(job_name="ctr-bridge-1"))["cold_start"] is True


@pytest.mark.parametrize(("family", "runs"), [("never", 0), ("once", 1), ("often", 2)])
def test_runs_are_those_of_the_snapshot(family: str, runs: int) -> None:
    artifact = hand_made(TYPES, "history.runs", offset=1.0, snapshot=SNAPSHOT)
    assert rates(artifact, ["a"], job=job(job_family=family)) == {"a": runs + 1}


def test_a_launch_without_a_time_is_now() -> None:
    artifact = hand_made(TYPES, "history.days_since_last", offset=1.0, snapshot=SNAPSHOT)
    (days,) = rates(artifact, ["a"], job=job(job_family="once")).values()
    assert days > 1


def test_a_prediction_that_is_not_finite_gives_an_empty_list() -> None:
    artifact = hand_made(TYPES, "history.days_since_last")
    answer = checked(ranker_of(artifact).rank({"job": job(), "candidates": ["a", "b"]}))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")
