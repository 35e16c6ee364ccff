"""Bins that lose their rows, bins of a few rows, and bins whose rows lack a feature."""

from dataclasses import replace

import numpy as np
import pytest

from functions.retrain.learning.bins import equal_frequency
from functions.retrain.learning.estimator import TrainingSet
from leap_model.artifact import load, pack, publish
from leap_model.columns import Floats, Ints
from leap_model.store import LocalStore
from tests.unit.learning.samples import (
    SMALL,
    artifact_of,
    expert_score,
    moving,
    noise,
    regimes,
    training_set,
)


@pytest.mark.parametrize(
    ("bins", "empty", "alive", "rows"),
    [
        (4, 0, [1, 2, 3], [0, 400, 200, 200]),
        (4, 1, [0, 2, 3], [200, 0, 400, 200]),
        (4, 3, [0, 1, 2], [400, 200, 200, 0]),
        (3, 1, [0, 2], [200, 0, 400]),
    ],
)
def test_a_bin_without_rows_has_no_expert_and_the_others_keep_theirs(
    store: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    bins: int,
    empty: int,
    alive: list[int],
    rows: list[int],
) -> None:
    moving(monkeypatch, lambda current: np.where(current == empty, (empty + 1) % bins, current))
    training = regimes(*[200] * bins)
    fitted = replace(SMALL, bins=bins, rounds=1).fit(training, seed=0, processes=1)
    assert fitted.notes["class_map"] == alive
    assert fitted.notes["rows_per_bin"] == rows
    assert len(fitted.notes["trees_per_expert"]) == len(alive)
    names = [name for name in fitted.model.forests if name.startswith("expert")]
    assert names == [f"expert-{number:02}" for number in alive]

    packed = pack(artifact_of(fitted.model, training))
    publish(store, "models/m", packed)
    served = load(store.folder("models/m"), packed.manifest_sha256).model
    predicted = served.predict(training.matrix)
    assert predicted.tobytes() == fitted.model.predict(training.matrix).tobytes()
    np.testing.assert_allclose(predicted, training.values, atol=4.0)
    for number in set(alive) - {(empty + 1) % bins}:
        own = training.matrix[:, 0] == number
        wanted = expert_score(served, number, training.matrix[own])
        assert predicted[own].tolist() == wanted.tolist()


def test_places_are_those_of_the_bins_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of the bins that are left is emptied twice: first bin 1, then bin 2."""
    moving(monkeypatch, lambda current: np.where(current == 1, 0, current))
    notes = replace(SMALL, rounds=2).fit(regimes(50, 50, 50, 50), seed=0, processes=1).notes
    told = [entry["rows_per_bin"] for entry in notes["rounds"]]
    assert told == [[100, 0, 50, 50], [150, 0, 0, 50]]
    assert notes["class_map"] == [0, 3]


def test_where_every_row_ends_in_one_bin_its_expert_serves_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moving(monkeypatch, lambda current: np.full_like(current, 2))
    training = regimes(50, 50, 50, 50)
    fitted = SMALL.fit(training, seed=0, processes=1)
    assert fitted.notes["class_map"] == [2]
    assert len(fitted.notes["rounds"]) == 1
    np.testing.assert_allclose(fitted.model.predict(training.matrix), training.values, atol=4.0)


def test_bins_of_a_few_rows_among_many_serve_their_median(monkeypatch: pytest.MonkeyPatch) -> None:
    few = (1, 3, 19, 39)
    training = noise(10_500, columns=2)
    first = equal_frequency(training.values, 5)
    kept = [np.flatnonzero(first == place)[:rows] for place, rows in enumerate(few, start=1)]

    def leave_a_few(current: Ints) -> Ints:
        result = np.zeros_like(current)
        for place, rows in enumerate(kept, start=1):
            result[rows] = place
        return result

    moving(monkeypatch, leave_a_few)
    estimator = replace(SMALL, bins=5, rounds=1, least_rows_per_leaf=20)
    fitted = estimator.fit(training, seed=0, processes=1)
    assert fitted.notes["rows_per_bin"] == [10_500 - sum(few), *few]
    assert fitted.notes["trees_per_expert"] == [30, 0, 0, 0, 0]
    for place, rows in enumerate(kept, start=1):
        said = expert_score(fitted.model, place, training.matrix[:2])
        assert said.tolist() == [np.median(training.values[rows])] * 2
    assert np.all(np.isfinite(fitted.model.checked().predict(training.matrix)))


EFFECTS = np.array([0.0, 0.0, 3.0, 3.0])


def lacking(column: str, value: float) -> TrainingSet:
    """Three regimes; in the outer ones a column has an effect, in the middle one it is `value`."""
    draw = np.random.default_rng(3)
    regime = draw.permutation(np.repeat(np.arange(3), 300))
    known = draw.integers(0, 4, 900)
    middle = regime == 1
    values = 20.0 * regime + np.where(middle, draw.normal(size=900), EFFECTS[known])
    matrix = np.column_stack([regime, np.where(middle, value, known)])
    return training_set(matrix, values, [1] if column == "category" else [])


def asked_of(regime: int) -> Floats:
    return np.column_stack([np.full(4, regime), np.arange(4.0)])


@pytest.mark.parametrize("value", [np.nan, 2.0], ids=["missing", "constant"])
@pytest.mark.parametrize("column", ["number", "category"])
def test_a_column_that_one_bin_lacks_serves_the_others(column: str, value: float) -> None:
    fitted = replace(SMALL, bins=3).fit(lacking(column, value), seed=0, processes=1)
    assert fitted.notes["rows_per_bin"] == [300, 300, 300]
    for regime in (0, 2):
        predicted = fitted.model.predict(asked_of(regime))
        np.testing.assert_allclose(predicted, 20.0 * regime + EFFECTS, atol=0.3)
    asked = np.vstack([asked_of(1), [[1.0, np.nan]]])
    middle = expert_score(fitted.model, 1, asked)
    assert middle.tolist() == [middle[0]] * 5
    assert fitted.model.predict(np.array([[1.0, value]])).tolist() == [middle[0]]
    assert abs(middle[0] - 20.0) < 0.3


@pytest.mark.parametrize("column", ["number", "category"])
def test_of_a_column_with_one_value_in_one_bin_its_expert_learns_what_missing_means(
    column: str,
) -> None:
    """In the middle regime the column is 3 or missing, which is worth 4."""
    training = lacking(column, 3.0)
    matrix, values = training.matrix.copy(order="F"), training.values.copy()
    middle = matrix[:, 0] == 1
    missing = middle & (values > 20)
    matrix[missing, 1] = np.nan
    values[middle] = np.where(missing, 22.0, 18.0)[middle]
    training = replace(training, matrix=matrix, values=values)
    model = replace(SMALL, bins=3).fit(training, seed=0, processes=1).model
    asked = np.array([[1.0, 3.0], [1.0, np.nan]])
    np.testing.assert_allclose(model.predict(asked), [18.0, 22.0], atol=0.1)


def test_a_bin_without_any_column_at_all_is_its_median() -> None:
    """The rows of the middle regime state nothing."""
    training = regimes(100, 100, 100)
    matrix = training.matrix.copy(order="F")
    matrix[matrix[:, 0] == 1] = np.nan
    fitted = replace(SMALL, bins=3).fit(replace(training, matrix=matrix), seed=0, processes=1)
    assert fitted.notes["rows_per_bin"] == [100, 100, 100]
    said = fitted.model.predict(np.full((1, 2), np.nan))[0]
    assert said == pytest.approx(np.median(training.values[training.matrix[:, 0] == 1]), abs=0.1)
    other = training.matrix[:, 0] == 2
    predicted = fitted.model.predict(training.matrix[other])
    np.testing.assert_allclose(predicted, training.values[other], atol=0.5)
