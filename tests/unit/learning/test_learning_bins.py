"""Bins: as equal as the values allow, numbered upwards, and rows go to the expert nearest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.retrain.learning.bins import equal_frequency, nearest_expert
from leap_model.columns import Floats

SOME = st.floats(-1e3, 1e3, width=32)
BINS = st.integers(1, 30)


def sizes(values: Floats, bins: int, least: int = 1) -> list[int]:
    return [int(count) for count in np.bincount(equal_frequency(values, bins, least))]


@given(st.lists(SOME, min_size=1, max_size=120, unique=True), BINS)
def test_bins_of_distinct_values_differ_by_one_row_at_most(
    distinct: list[float], bins: int
) -> None:
    counts = sizes(np.array(distinct), bins)
    assert len(counts) == min(bins, len(distinct))
    assert max(counts) - min(counts) <= 1


@given(st.lists(st.integers(0, 9) | SOME, min_size=1, max_size=80), BINS)
def test_bins_rise_with_the_value_without_a_gap_and_ties_share_one(
    some: list[float], bins: int
) -> None:
    values = np.array(some, np.float64)
    numbers = equal_frequency(values, bins)
    assert sorted(set(numbers.tolist())) == list(range(numbers.max() + 1))
    assert numbers.max() < bins
    order = np.argsort(values)
    rises = np.diff(numbers[order])
    assert np.all(rises >= 0)
    assert np.all(rises[np.diff(values[order]) == 0] == 0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), BINS, st.data())
def test_the_order_of_the_rows_does_not_matter(
    some: list[int], bins: int, data: st.DataObject
) -> None:
    values = np.array(some, np.float64)
    order = np.array(data.draw(st.permutations(range(len(some)))))
    shuffled = equal_frequency(values[order], bins)
    assert shuffled.tolist() == equal_frequency(values, bins)[order].tolist()


@pytest.mark.parametrize(
    ("values", "bins", "expected"),
    [
        ([3, 1, 2, 4], 2, [1, 0, 0, 1]),
        ([1, 2, 3, 4, 5], 2, [0, 0, 1, 1, 1]),
        ([1, 2, 2, 2, 3, 4], 2, [0, 0, 0, 0, 1, 1]),
        ([1, 2, 3], 1, [0, 0, 0]),
        ([2, 1, 3], 13, [1, 0, 2]),
        ([7], 13, [0]),
        ([5, 5, 5, 5], 3, [0, 0, 0, 0]),
    ],
)
def test_bins_by_hand(values: list[float], bins: int, expected: list[int]) -> None:
    assert equal_frequency(np.array(values, np.float64), bins).tolist() == expected


@pytest.mark.parametrize(
    ("one_value_at", "expected"),
    [(0.0, [80, 10, 10]), (50.5, [10, 80, 10]), (100.0, [10, 10, 80])],
    ids=["lowest", "middle", "highest"],
)
def test_a_value_of_four_rows_in_five_has_a_bin_of_its_own(
    one_value_at: float, expected: list[int]
) -> None:
    others = np.delete(np.arange(1.0, 100.0), np.arange(10, 89))
    values = np.concatenate([np.full(80, one_value_at), others[:20]])
    assert sizes(values, 10) == expected


@given(st.lists(st.integers(0, 9) | SOME, min_size=1, max_size=80), BINS, st.integers(1, 20))
def test_no_bin_of_several_has_fewer_rows_than_the_least(
    some: list[float], bins: int, least: int
) -> None:
    values = np.array(some, np.float64)
    counts = sizes(values, bins, least)
    assert len(counts) == 1 or min(counts) >= least
    assert len(counts) <= min(bins, max(1, len(values) // least))
    assert len(sizes(values, bins)) >= len(counts)


@pytest.mark.parametrize(
    ("values", "bins", "least", "expected"),
    [
        ([0] * 9 + [1], 2, 2, [10]),
        ([0] + [1] * 9, 2, 2, [10]),
        ([0, 0, 1, 1, 1, 1, 1, 1, 2], 9, 2, [2, 7]),
        ([0, 1, 2, 3, 4, 5, 6, 7], 4, 3, [4, 4]),
        ([0, 1, 2, 3, 4, 5, 6, 7], 4, 2, [2, 2, 2, 2]),
        ([0, 1, 2], 3, 4, [3]),
    ],
)
def test_rows_too_few_for_a_bin_of_their_own_join_the_next(
    values: list[float], bins: int, least: int, expected: list[int]
) -> None:
    assert sizes(np.array(values, np.float64), bins, least) == expected


ERRORS = st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf])


@given(st.data(), st.integers(1, 6), st.integers(1, 12))
def test_no_row_moves_to_a_worse_expert_to_an_equal_one_or_to_one_not_asked(
    data: st.DataObject, experts: int, rows: int
) -> None:
    errors = np.array(data.draw(st.lists(ERRORS, min_size=rows * experts, max_size=rows * experts)))
    errors = errors.reshape(rows, experts)
    places = st.lists(st.integers(0, experts - 1), min_size=rows, max_size=rows)
    current = np.array(data.draw(places))
    at = np.arange(rows)
    errors[at, current] = np.minimum(errors[at, current], 3.0)

    chosen = nearest_expert(errors, current)
    moved = chosen != current
    assert np.all(errors[at, chosen][moved] < errors[at, current][moved])
    assert np.all(errors[at, chosen] == errors.min(axis=1))
    assert np.all(np.isfinite(errors[at, chosen]))


def test_of_several_better_experts_the_lowest_is_chosen_and_a_tie_keeps_the_current_one() -> None:
    errors = np.array([[1.0, 0.5, 0.5], [0.5, 0.5, 0.5], [np.inf, 2.0, np.inf]])
    assert nearest_expert(errors, np.array([0, 2, 1])).tolist() == [1, 2, 1]
