"""Single fits: too few rows give a median, rare classes and empty columns do no harm."""

from collections.abc import Callable

import numpy as np
import pytest

from functions.retrain.learning.boosting import Boosting, classifier, regressor
from leap_model.columns import Floats
from leap_model.trees import Forest

TINY = Boosting(trees=5, leaves=8, learning_rate=0.3, least_rows_per_leaf=20)
ROWS = 10_500
"""More than the 10,000 above which scikit-learn would split rows by class of its own accord."""


def drawn(rows: int, columns: int = 2) -> Floats:
    return np.random.default_rng(rows).normal(size=(rows, columns))


def features_split(forest: Forest) -> set[int]:
    return set(forest.split_columns()[0].tolist())


@pytest.mark.parametrize("categorical", [[False, True], [True, False], [False, False]], ids=str)
@pytest.mark.parametrize("fit", [regressor, classifier])
def test_columns_of_codes_are_split_by_sets_and_no_others(
    fit: Callable[..., Forest], categorical: list[bool]
) -> None:
    matrix: Floats = np.random.default_rng(0).integers(0, 6, (400, 2)).astype(np.float64)
    values = (np.isin(matrix, [0, 3, 5]) @ np.array([1, 2])).astype(np.int64)
    forest = fit(matrix, values, categorical, TINY, seed=0, threads=1)
    columns, by_set = forest.split_columns()
    assert set(columns.tolist()) == {0, 1}
    assert by_set.tolist() == np.array(categorical)[columns].tolist()


@pytest.mark.parametrize("rows", [1, 3, 19, 39])
def test_rows_too_few_to_split_give_their_median_without_a_tree(rows: int) -> None:
    matrix = drawn(rows)
    expert = regressor(matrix, matrix[:, 0], [False, False], TINY, seed=0, threads=1)
    assert expert.n_trees == 0
    assert expert.score(drawn(4))[:, 0].tolist() == [np.median(matrix[:, 0])] * 4


def test_rows_just_enough_to_split_are_split() -> None:
    matrix = drawn(40)
    expert = regressor(matrix, matrix[:, 0], [False, False], TINY, seed=0, threads=1)
    assert expert.n_trees == 5
    assert len(np.unique(expert.score(matrix))) > 1


def test_one_row_of_wrong_values_moves_no_prediction_far() -> None:
    matrix = drawn(200)
    values = np.where(np.arange(200) == 7, 1e6, matrix[:, 0])
    expert = regressor(matrix, values, [False, False], TINY, seed=0, threads=1)
    assert np.abs(expert.score(matrix)).max() < 3


def test_many_rows_with_classes_of_one_row_fit() -> None:
    matrix = drawn(ROWS)
    classes = np.where(matrix[:, 0] > 0, 3, 1)
    classes[[5, 6]] = [0, 7]
    picker = classifier(matrix, classes, [False, False], TINY, seed=0, threads=1)
    scores = picker.score(matrix)
    assert scores.shape == (ROWS, 4)
    assert picker.n_trees == 5 * 4
    known = np.array([0, 1, 3, 7])[scores.argmax(axis=1)]
    assert np.mean(known == classes) > 0.99


def test_a_class_of_one_row_beside_a_single_other_fits() -> None:
    matrix = drawn(ROWS)
    classes = np.where(np.arange(ROWS) == 5, 4, 2)
    picker = classifier(matrix, classes, [False, False], TINY, seed=0, threads=1)
    scores = picker.score(matrix)
    assert scores.shape == (ROWS, 1)
    assert np.all(scores < 0)


@pytest.mark.parametrize("categorical", [False, True], ids=["number", "category"])
def test_a_column_without_a_value_is_never_split(categorical: bool) -> None:
    matrix = drawn(300)
    matrix[:, 1] = np.nan
    expert = regressor(matrix, matrix[:, 0], [False, categorical], TINY, seed=0, threads=1)
    assert features_split(expert) == {0}
    asked = np.repeat([[0.5, np.nan], [0.5, 0.0], [0.5, 3.0]], 2, axis=0)
    assert len(np.unique(expert.score(asked))) == 1


def test_the_rows_given_are_left_as_they_were() -> None:
    matrix = drawn(300)
    matrix[:, 1] = np.nan
    before = matrix.copy()
    regressor(matrix, matrix[:, 0], [False, False], TINY, seed=0, threads=1)
    np.testing.assert_array_equal(matrix, before)


def test_a_column_with_one_value_is_split_by_whether_it_is_missing() -> None:
    matrix = drawn(300)
    matrix[:, 1] = np.where(matrix[:, 0] > 0, 4.0, np.nan)
    values = np.where(matrix[:, 0] > 0, 1.0, 0.0)
    expert = regressor(matrix[:, 1:], values, [False], TINY, seed=0, threads=1)
    low, high = expert.score(np.array([[np.nan], [4.0]]))[:, 0]
    assert high - low > 0.5
