"""The marks of attempts: each by hand on a few, and all of a fleet beside the published ones."""

from typing import Any

import numpy as np
import pytest

from cli.simulation import Summary
from cli.simulation.marks import ENOUGH_FOR_A_KEY, ENOUGH_FOR_A_TYPE, Mark, Marks

Attempt = dict[str, Any]


def _attempt(throughput: float | None, **others: object) -> Attempt:
    return {
        "model_type": "m",
        "hardware_type": "h",
        "num_trainers": 1,
        "batch_size": 8,
        "throughput": throughput,
        **others,
    }


def _figures(attempts: list[Attempt]) -> dict[str, Any]:
    marks = Marks()
    assert list(marks.counted(attempts)) == attempts
    return {mark.name: mark.fleet for mark in marks.figures()}


WIDE = "attempts under lookup keys with p90/p10 > 1.5"
BY_TYPE = "p95/p5 on single hardware types"


@pytest.mark.parametrize("unmeasured", [None, 0.0, 0, -1.0])
def test_what_was_not_measured_counts_nowhere(unmeasured: float | None) -> None:
    figures = _figures([_attempt(unmeasured)])
    assert figures["model types"] == 0
    assert figures["hardware types, at least"] == 0
    others = [value for name, value in figures.items() if "types" not in name or "p95" in name]
    assert others == [None] * len(others)


def test_throughput_is_measured_in_decades() -> None:
    values = [2.0, 30.0, 40.0, 50.0, 4e6]
    figures = _figures([_attempt(value) for value in values])
    assert figures["smallest throughput"] == pytest.approx(2)
    assert figures["largest throughput"] == pytest.approx(4e6)
    assert figures["decades that throughput touches"] == 7
    assert figures["attempts within the best two decades"] == pytest.approx(0.8)
    low, high = np.quantile(np.log10(values), [0.05, 0.95])
    assert figures["p95/p5 of throughput"] == pytest.approx(10 ** (high - low))


def test_shares_go_to_the_most_popular_model_types() -> None:
    names = [name for at in range(25) for name in [f"m{at}"] * (3 if at % 5 == 0 else 1)]
    figures = _figures([_attempt(1.0, model_type=name) for name in names])
    assert figures["attempts of the 19 most popular model types"] == pytest.approx(29 / 35)
    assert figures["attempts of the 100 most popular model types"] == 1
    assert figures["model types"] == 25


def test_the_range_of_types_leaves_small_ones_out() -> None:
    spread = np.geomspace(1, 100, ENOUGH_FOR_A_TYPE).tolist()
    steady = [5.0] * ENOUGH_FOR_A_TYPE
    small = np.geomspace(1, 1e5, ENOUGH_FOR_A_TYPE - 1).tolist()
    # Interleaved, so that no type's attempts lie together.
    attempts = [
        _attempt(value, hardware_type=name)
        for row in zip(spread, steady, small, strict=False)
        for name, value in zip("abc", row, strict=True)
    ]
    attempts += [_attempt(100.0, hardware_type="a"), _attempt(5.0, hardware_type="b")]
    low, high = _figures(attempts)[BY_TYPE]
    assert low == pytest.approx(1)
    assert high == pytest.approx(100**0.9, rel=0.05)


@pytest.mark.parametrize(
    "column", [{"model_type": "n"}, {"hardware_type": "i"}, {"num_trainers": 2}, {"batch_size": 9}]
)
def test_a_key_is_model_type_hardware_type_hosts_and_batch(column: dict[str, Any]) -> None:
    slow, fast = ([_attempt(value)] * ENOUGH_FOR_A_KEY for value in (1.0, 2.0))
    assert _figures(slow + fast)[WIDE] == 1
    apart = [attempt | column for attempt in fast]
    assert _figures([a for pair in zip(slow, apart, strict=True) for a in pair])[WIDE] == 0


def test_keys_count_by_their_attempts_and_only_with_enough() -> None:
    wide = [_attempt(value) for value in np.geomspace(1, 3, 3 * ENOUGH_FOR_A_KEY)]
    narrow = [_attempt(1.0, batch_size=9)] * ENOUGH_FOR_A_KEY
    rare = [_attempt(value, batch_size=10) for value in (1.0, 9.0)]
    assert _figures(rare)[WIDE] is None
    assert _figures(narrow + rare + wide)[WIDE] == pytest.approx(0.75)


@pytest.mark.parametrize("ratio", [1.49, 1.51])
def test_wide_is_more_than_a_half_more(ratio: float) -> None:
    # Of eleven sorted values the second and the tenth are the percentiles.
    values = [1.0, 1.0, *[1.1] * 7, ratio, ratio]
    assert _figures([_attempt(value) for value in values])[WIDE] == (ratio > 1.5)


def test_a_fleet_has_the_published_marks_as_far_as_its_size_permits(summary: Summary) -> None:
    """12,000 attempts: the others need more of them, see the calibration's own test."""
    marks = {mark.name: mark for mark in summary.marks}
    for name, tolerance in {
        "attempts of the 19 most popular model types": 0.1,
        "attempts of the 100 most popular model types": 0.1,
        "attempts within the best two decades": 0.1,
        "p95/p5 of throughput": 0.35,
    }.items():
        assert _off(marks[name]) < tolerance, marks[name]
    assert marks["hardware types, at least"].fleet == summary.hardware_types >= 22
    measured = marks["model types"].fleet  # a rare type may have been launched and never measured
    assert isinstance(measured, float)
    assert summary.model_types - 5 <= measured <= summary.model_types


def _off(mark: Mark) -> float:
    assert isinstance(mark.fleet, float)
    assert isinstance(mark.published, float | int)
    return abs(mark.fleet / mark.published - 1)
