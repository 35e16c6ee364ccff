"""Regret, order and savings worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bench.laboratory.decisions import Stakes, decisions

NAN = np.nan
# Work per dollar: 10, 5, 20 of the first attempt; 8, 4 of the second; 6 of the third.
STAKES = Stakes(
    throughput=np.array([[10.0, 10.0, 80.0], [8.0, 8.0, NAN], [6.0, NAN, NAN]]),
    dollars_per_hour=np.array([[1.0, 2.0, 4.0]] * 3),
    used=np.array([1, 0, 0]),
    accelerator_hours=np.array([3.0, 1.0, 5.0]),
    dollars=np.array([100.0, 10.0, 1000.0]),
    cold=np.array([True, False, False]),
)
RIGHT = STAKES.throughput
# Says the first type is the best for the first attempt, and the second one for the second.
WRONG = np.array([[90.0, 10.0, 80.0], [8.0, 80.0, 1e9], [6.0, 1.0, 1.0]])


def test_the_truth_itself_regrets_nothing() -> None:
    result = decisions(STAKES, RIGHT)
    assert result["attempts"] == 2  # the third had no choice
    for part in (result, result["cold"], result["warm"]):
        expected = {"coverage": 1.0, "best_first": 1.0, "regret": 0.0, "pairwise": 1.0}
        assert {name: part[name] for name in expected} == expected
        assert part["regret_by_gpu_hours"] == 0.0
    assert result["saving"] == 1.0
    assert result["warm"]["saving"] is None  # it ran on the best already


def test_a_wrong_first_choice_by_hand() -> None:
    result = decisions(STAKES, WRONG)
    regrets = [20 / 10 - 1, 8 / 4 - 1]
    assert result["regret"] == pytest.approx(np.mean(regrets))
    assert result["regret_by_gpu_hours"] == pytest.approx((3 * regrets[0] + regrets[1]) / 4)
    assert result["best_first"] == 0.0
    # First attempt: says 90, 5, 20 where 10, 5, 20 is true: one of three pairs is wrong.
    assert result["pairwise"] == pytest.approx(2 / 4)
    assert result["cold"]["pairwise"] == pytest.approx(2 / 3)
    # The first ran at 5 a dollar, could have at 20, would at 10; the second at 8, would at 4.
    possible = 100 * (1 - 5 / 20)
    realised = 100 * (1 - 5 / 10) + 10 * (1 - 8 / 4)
    assert result["saving"] == pytest.approx(realised / possible)


def test_candidates_that_cannot_host_count_for_nothing() -> None:
    elsewhere = WRONG.copy()
    elsewhere[np.isnan(STAKES.throughput)] = 0.0
    assert decisions(STAKES, elsewhere) == decisions(STAKES, WRONG)


def test_a_method_is_judged_on_attempts_of_which_it_knows_two_candidates() -> None:
    partial = np.array([[90.0, 10.0, NAN], [NAN, 8.0, NAN], [NAN, NAN, NAN]])
    result = decisions(STAKES, partial)
    assert (result["attempts"], result["coverage"]) == (1, 0.5)
    assert result["regret"] == pytest.approx(1.0)  # the best of all candidates, known or not
    assert result["pairwise"] == 1.0


def test_a_method_that_speaks_of_no_type_has_no_figures() -> None:
    result = decisions(STAKES, np.full((3, 3), NAN))
    assert (result["attempts"], result["coverage"]) == (0, 0.0)
    for part in (result, result["cold"], result["warm"]):
        for name in ("regret", "regret_by_gpu_hours", "pairwise", "saving", "best_first"):
            assert part[name] is None


def test_ties_count_half() -> None:
    even = replace(STAKES, dollars_per_hour=np.ones((3, 3)))
    result = decisions(even, np.full((3, 3), 7.0))
    # True worth 10, 10, 80 and 8, 8: only the pairs with the 80 are unlike.
    assert result["pairwise"] == 0.5


def test_what_nobody_paid_for_has_no_weight() -> None:
    unknown = replace(
        STAKES, dollars=np.array([NAN, 10.0, 1.0]), accelerator_hours=np.array([NAN, 1.0, 1.0])
    )
    result = decisions(unknown, WRONG)
    assert result["regret_by_gpu_hours"] == pytest.approx(1.0)
    assert result["saving"] is None  # nothing was left to save on the second
    assert decisions(replace(STAKES, used=np.array([-1, 0, 0])), WRONG)["saving"] is None


def test_of_no_attempts_everything_is_null() -> None:
    result = decisions(STAKES.take(np.zeros(0, np.int64)), np.zeros((0, 3)))
    assert (result["attempts"], result["coverage"], result["regret"]) == (0, None, None)
