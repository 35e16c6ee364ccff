"""History: what earlier runs of a family showed, and nothing that was not known at launch."""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.retrain.training import history_at_launch
from leap_model.columns import Labels
from leap_model.history import (
    History,
    Outcomes,
    cutoffs,
    family_hashes,
    history_as_of,
    no_history,
    snapshot_as_of,
)
from leap_model.intake import Counts, Record, take_in
from leap_model.limits import DAY_US
from leap_model.times import parse_time
from tests.support import NOW, attempt, filled, fleet
from tests.unit.leap_model.builders import jobs_of, outcomes_of
from tests.unit.retrain.nights import records

HOUR_US = DAY_US // 24
NOTHING = outcomes_of([])
ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.integers(0, 12).map(lambda halves: halves * DAY_US // 2),
        st.floats(-30, 30).map(lambda value: value + 0.0),
    ),
    max_size=25,
)


def as_of(outcomes: Outcomes, asked: list[tuple[str, int]]) -> History:
    families = family_hashes(Labels.of(family for family, _ in asked))
    return history_as_of(outcomes, families, np.array([before for _, before in asked], np.int64))


def same_bits(one: History, other: History) -> bool:
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("last", "mean", "std", "runs", "last_completed_at")
    )


def turned(outcomes: Outcomes, order: Any) -> Outcomes:
    return Outcomes(outcomes.family[order], outcomes.completed_at[order], outcomes.log_value[order])


def test_means_stay_within_a_family_and_leave_the_own_run_out() -> None:
    runs = [("a", 1, 1.0), ("b", 1, 100.0), ("a", 2, 2.0), ("b", 2, 200.0)]
    history = as_of(outcomes_of(runs), [("a", 1), ("a", 2), ("b", 1), ("b", 2)])
    np.testing.assert_array_equal(history.mean, [np.nan, 1.0, np.nan, 100.0])
    np.testing.assert_array_equal(history.last, [np.nan, 1.0, np.nan, 100.0])
    np.testing.assert_array_equal(history.runs, [0, 1, 0, 1])


def test_values_by_hand() -> None:
    history = as_of(outcomes_of([("a", 10, 1.0), ("a", 30, 4.0), ("a", 20, 7.0)]), [("a", 31)])
    assert (history.last[0], history.mean[0], history.runs[0]) == (4.0, 4.0, 3.0)
    assert history.std[0] == pytest.approx(math.sqrt(6.0))
    assert history.last_completed_at[0] == 30


def test_what_completed_at_the_very_moment_is_not_known_yet() -> None:
    history = as_of(outcomes_of([("a", 10, 1.0)]), [("a", 9), ("a", 10), ("a", 11)])
    assert history.runs.tolist() == [0, 0, 1]


def test_a_family_without_runs_has_no_history() -> None:
    history = as_of(outcomes_of([("a", 10, 1.0)]), [("b", 99), ("a", 5)])
    assert same_bits(history, no_history(2))
    assert same_bits(as_of(NOTHING, [("a", 5)]), no_history(1))
    assert same_bits(as_of(NOTHING, []), no_history(0))


@given(ROWS, st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 7)), max_size=8))
def test_history_is_what_a_plain_loop_gives(
    rows: list[tuple[str, int, float]], days: list[tuple[str, int]]
) -> None:
    asked = [(family, day * DAY_US) for family, day in days]
    history = as_of(outcomes_of(rows), asked)
    for at, (family, before) in enumerate(asked):
        runs = sorted(
            (done, value) for name, done, value in rows if name == family and done < before
        )
        values = [value for _, value in runs]
        assert history.runs[at] == len(values)
        if not values:
            assert np.isnan([history.last[at], history.mean[at], history.std[at]]).all()
            continue
        assert history.last[at] == np.float32(values[-1])
        assert history.last_completed_at[at] == runs[-1][0]
        assert history.mean[at] == pytest.approx(np.mean(values), rel=6e-8, abs=1e-12)
        assert history.std[at] == pytest.approx(np.std(values), abs=1e-6)


@given(ROWS, st.randoms())
def test_the_order_of_outcomes_changes_no_bit(
    rows: list[tuple[str, int, float]], draw: Any
) -> None:
    asked = [(family, day * DAY_US) for family in "abcd" for day in range(7)]
    shuffled = list(rows)
    draw.shuffle(shuffled)
    assert same_bits(as_of(outcomes_of(rows), asked), as_of(outcomes_of(shuffled), asked))


@given(ROWS)
def test_a_single_run_deviates_by_nothing(rows: list[tuple[str, int, float]]) -> None:
    once = list({family: (family, done, value) for family, done, value in rows}.values())
    history = as_of(outcomes_of(once), [(family, 7 * DAY_US) for family, _, _ in once])
    assert history.std.tolist() == [0.0] * len(once)
    assert history.mean.tolist() == [np.float32(value) for _, _, value in once]


def test_equal_runs_deviate_by_nothing_in_a_large_fleet() -> None:
    draw = np.random.default_rng(3)
    others = [(f"f{at % 500}", at, value) for at, value in enumerate(draw.normal(5, 3, 20_000))]
    history = as_of(outcomes_of([*others, *(("z", at, 0.1) for at in range(50))]), [("z", 99)])
    assert (history.mean[0], history.std[0], history.runs[0]) == (np.float32(0.1), 0.0, 50.0)


@given(ROWS, st.integers(0, 7))
def test_the_snapshot_is_the_history_of_its_moment_bit_for_bit(
    rows: list[tuple[str, int, float]], day: int
) -> None:
    outcomes = outcomes_of(rows)
    snapshot = snapshot_as_of(outcomes, day * DAY_US)
    asked = [(family, day * DAY_US) for family in "abcde"]
    looked_up = snapshot.lookup(family_hashes(Labels.of("abcde")))
    assert same_bits(looked_up, as_of(outcomes, asked))
    assert np.all(snapshot.history.runs > 0)
    assert np.all(snapshot.family[1:] > snapshot.family[:-1])


def test_a_snapshot_gives_unknown_families_no_history() -> None:
    snapshot = snapshot_as_of(outcomes_of([("a", 1, 1.0), ("c", 1, 3.0)]), 9)
    asked = family_hashes(Labels.of(["zz", "a", "b", "c", "a"]))
    looked_up = snapshot.lookup(asked)
    np.testing.assert_array_equal(looked_up.mean, [np.nan, 1, np.nan, 3, 1])
    assert looked_up.runs.tolist() == [0, 1, 0, 1, 1]
    for edge in (0, 2**64 - 1):
        assert same_bits(snapshot.lookup(np.array([edge], np.uint64)), no_history(1))
    assert same_bits(snapshot_as_of(NOTHING, 9).lookup(asked), no_history(5))


def test_the_most_recently_run_families_stay() -> None:
    runs = [(f"f{at}", at * 10, float(at)) for at in range(20)] + [("f3", 500, 3.0)]
    snapshot = snapshot_as_of(outcomes_of(runs), 1000, most=4)
    kept = family_hashes(Labels.of(["f3", "f17", "f18", "f19"]))
    assert snapshot.family.tolist() == sorted(kept.tolist())
    assert snapshot.lookup(kept).last.tolist() == [3.0, 17.0, 18.0, 19.0]
    assert snapshot.lookup(kept).runs.tolist() == [2.0, 1.0, 1.0, 1.0]


def test_equally_recent_families_are_kept_whatever_the_order() -> None:
    outcomes = outcomes_of([(f"f{at}", 5, float(at)) for at in range(20)])
    one = snapshot_as_of(outcomes, 9, most=7)
    other = snapshot_as_of(turned(outcomes, np.arange(20)[::-1]), 9, most=7)
    assert len(one.family) == 7
    assert one.family.tobytes() == other.family.tobytes()
    assert same_bits(one.history, other.history)


@pytest.mark.parametrize(
    ("launched", "cutoff"),
    [
        ("2026-01-12T00:00:00Z", "2026-01-12T00:00:00Z"),
        ("2026-01-12T23:59:59.999999Z", "2026-01-12T00:00:00Z"),
        ("2026-01-12T01:00:00+02:00", "2026-01-11T00:00:00Z"),
        ("1969-12-31T12:00:00Z", "1969-12-31T00:00:00Z"),
    ],
)
def test_the_cutoff_is_the_start_of_the_utc_day_of_the_launch(launched: str, cutoff: str) -> None:
    assert cutoffs(np.array([parse_time(launched)])).tolist() == [parse_time(cutoff)]


def test_a_launch_sees_what_the_snapshot_of_its_morning_saw() -> None:
    morning = parse_time("2026-01-12T00:00:00Z")
    outcomes = outcomes_of(
        [
            ("a family", morning - HOUR_US, 1.0),  # done on the eve
            ("a family", morning, 2.0),  # ran over midnight
            ("a family", morning + 2 * HOUR_US, 3.0),  # done earlier on the day of the launch
            ("a family", morning + 9 * HOUR_US, 4.0),  # the launch's own result
            ("a family", morning + 40 * HOUR_US, 5.0),  # launched before, still running
        ]
    )
    launches = [morning - 2 * HOUR_US, morning, morning + 8 * HOUR_US, morning + 24 * HOUR_US]
    history = history_at_launch(jobs_of([{"launched_at": at} for at in launches]), outcomes)
    assert history.runs.tolist() == [0, 1, 1, 4]
    np.testing.assert_array_equal(history.last, [np.nan, 1.0, 1.0, 4.0])
    frozen = history_at_launch(
        jobs_of([{"launched_at": at} for at in launches]), outcomes, latest=morning
    )
    assert frozen.runs.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("hours", "days"), [(-100, 0.0), (-1, 0.0), (0, 0.0), (6, 0.25), (24, 1.0), (240, 10.0)]
)
def test_days_since_the_last_run_grow_with_real_time_from_zero(hours: int, days: float) -> None:
    last = parse_time("2026-01-02T10:00:00Z")
    snapshot = snapshot_as_of(outcomes_of([("a", last, 1.0)]), last + DAY_US)
    known = snapshot.lookup(family_hashes(Labels.of(["a", "b"])))
    since = known.days_since(np.array([last + hours * HOUR_US] * 2))
    np.testing.assert_array_equal(since, [days, np.nan])


def test_family_hashes_are_those_of_other_programs() -> None:
    hashes = family_hashes(Labels.of(["a", "é", "a"]))
    assert hashes.tolist() == [0xCA978112CA1BBDCA, 0x4A99557E4033C353, 0xCA978112CA1BBDCA]
    assert family_hashes(Labels.of([])).dtype == np.uint64


DAYS = date(2026, 1, 5), date(2026, 1, 13)


def stored(root: Path, *batches: list[dict[str, Any]]) -> Outcomes:
    store = filled(root, [])
    for batch in batches:
        take_in(store, [Record.of_json(json.dumps(row).encode()) for row in batch], Counts(), NOW)
    return records(store, *DAYS).outcomes_before(NOW)


def test_replays_change_nothing(tmp_path: Path) -> None:
    rows = fleet(60)
    once = stored(tmp_path / "once", rows)
    again = stored(tmp_path / "again", rows[30:], rows[:40], rows, list(reversed(rows)))
    assert len(once.family) == 60
    assert same_bits(snapshot_as_of(once, NOW).history, snapshot_as_of(again, NOW).history)


def test_an_attempt_that_completed_again_counts_once_as_of_each_moment(tmp_path: Path) -> None:
    first = attempt(job_family="f", completed_at="2026-01-03T10:00:00Z", throughput=10.0)
    later = attempt(job_family="f", completed_at="2026-01-06T10:00:00Z", throughput=20.0)
    outcomes = stored(tmp_path, [later], [first])
    assert outcomes.completed_at.tolist() == [parse_time("2026-01-06T10:00:00Z")]
    assert outcomes.log_value.tolist() == [math.log(20.0)]
    store = filled(tmp_path, [])
    earlier = records(store, *DAYS).outcomes_before(parse_time("2026-01-05T00:00:00Z"))
    assert earlier.log_value.tolist() == [math.log(10.0)]


@pytest.mark.parametrize("throughput", [None, 0, -5, math.nan, math.inf, 1e-320])
def test_what_is_no_measurement_is_no_history(tmp_path: Path, throughput: float | None) -> None:
    outcomes = stored(tmp_path, [attempt(throughput=throughput), attempt(attempt_id="b")])
    assert len(outcomes.family) == 1
