"""Rounds: rows only move to better experts, as often as allowed, and the losses say so."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from functions.retrain.learning import cascade
from functions.retrain.learning.bins import equal_frequency
from functions.retrain.learning.boosting import Boosting, regressor
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.presets import ESTIMATORS
from leap_model.columns import Floats, Ints
from tests.unit.learning.samples import SMALL, moving, noise, training_set

Rounds = list[dict[str, Any]]


@pytest.mark.parametrize("reach", [1, 13])
@pytest.mark.parametrize("seed", range(3))
def test_no_round_raises_the_loss(seed: int, reach: int) -> None:
    estimator = replace(SMALL, bins=6, reach=reach, least_moved=0.0)
    notes = estimator.fit(noise(400, seed=seed), seed, processes=1).notes
    assert len(notes["rounds"]) == 3
    for told in notes["rounds"]:
        assert told["moved"] > 0
        assert told["loss_after"] < told["loss_before"]
        assert sum(told["rows_per_bin"]) == 400
    assert notes["rows_per_bin"] == notes["rounds"][-1]["rows_per_bin"]
    assert json.dumps(notes, allow_nan=False)


def by_hand(values: Floats, bins: int, rounds: int) -> tuple[Rounds, list[int]]:
    """The rounds of experts that all say the median of their rows, written out row by row."""
    current = [int(number) for number in equal_frequency(values, bins)]
    told: Rounds = []
    while len(told) < rounds and len(set(current)) > 1 and (not told or told[-1]["moved"]):
        alive = sorted(set(current))
        medians = [float(np.median(values[np.array(current) == number])) for number in alive]
        before, after, then = [], [], []
        for value, number in zip(values.tolist(), current, strict=True):
            own = alive.index(number)
            off = [(abs(value - median), at != own, at) for at, median in enumerate(medians)]
            before.append(abs(value - medians[own]))
            after.append(min(off)[0])
            then.append(alive[min(off)[2]])
        moved = [one != other for one, other in zip(current, then, strict=True)]
        current = then
        told.append(
            {
                "moved": np.mean(moved),
                "loss_before": np.mean(before),
                "loss_after": np.mean(after),
                "rows_per_bin": np.bincount(current, minlength=bins).tolist(),
            }
        )
    return told, current


@pytest.mark.parametrize("seed", range(5))
def test_of_experts_without_a_tree_rows_move_to_the_nearest_median(seed: int) -> None:
    values = np.exp(np.random.default_rng(seed).normal(size=60)).round(1)
    training = training_set(np.zeros((60, 1)), values)
    medians = replace(SMALL, least_rows_per_leaf=99, least_rows_per_bin=1, classifier_trees=1)
    estimator = replace(medians, bins=6, rounds=4, least_moved=1e-9)
    notes = estimator.fit(training, seed=0, processes=1).notes
    expected, final = by_hand(values, bins=6, rounds=4)
    assert len(expected) > 1
    for told, wanted in zip(notes["rounds"], expected, strict=True):
        assert {name: told[name] for name in wanted} == wanted
    assert notes["rows_per_bin"] == np.bincount(final, minlength=6).tolist()


@pytest.mark.parametrize("reach", [0, 1, 2, 13])
def test_each_row_is_scored_by_the_experts_within_reach_of_its_own_bin_and_no_others(
    monkeypatch: pytest.MonkeyPatch, reach: int
) -> None:
    seen: list[tuple[Floats, Ints]] = []

    def spy(errors: Floats, current: Ints) -> Ints:
        seen.append((errors.copy(), current))
        return current

    monkeypatch.setattr(cascade, "nearest_expert", spy)
    training = noise(300)
    replace(SMALL, bins=5, reach=reach).fit(training, seed=0, processes=1)
    ((errors, places),) = seen
    assert places.tolist() == equal_frequency(training.values, 5).tolist()
    size = Boosting(SMALL.deciding_trees, SMALL.expert_leaves, 0.3, SMALL.least_rows_per_leaf)
    for place in range(5):
        own = places == place
        matrix, values = training.matrix[own], training.values[own]
        expert = regressor(matrix, values, [False] * 3, size, seed=0, threads=1)
        off = np.abs(expert.score(training.matrix)[:, 0] - training.values)
        asked = np.abs(places - place) <= reach
        assert errors[:, place].tolist() == np.where(asked, off, np.inf).tolist()


def back_and_forth(rows: int) -> Callable[[Ints], Ints]:
    """Sends the first rows of the first two places to the other of the two, every time."""

    def move(current: Ints) -> Ints:
        moved = np.flatnonzero(current < 2)[:rows]
        result = current.copy()
        result[moved] = 1 - current[moved]
        return result

    return move


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_rows_that_never_rest_move_as_often_as_allowed(
    monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    moving(monkeypatch, back_and_forth(30))
    notes = replace(SMALL, rounds=rounds).fit(noise(300), seed=0, processes=1).notes
    assert [told["moved"] for told in notes["rounds"]] == [0.1] * rounds


@pytest.mark.parametrize(("rows", "rounds"), [(19, 1), (20, 3)])
def test_a_round_in_which_too_few_rows_moved_is_the_last(
    monkeypatch: pytest.MonkeyPatch, rows: int, rounds: int
) -> None:
    moving(monkeypatch, back_and_forth(rows))
    notes = SMALL.fit(noise(1000), seed=0, processes=1).notes
    assert [told["moved"] for told in notes["rounds"]] == [rows / 1000] * rounds


def test_without_rounds_the_first_bins_are_the_last() -> None:
    notes = replace(SMALL, rounds=0).fit(noise(402), seed=0, processes=1).notes
    assert notes["rounds"] == []
    assert notes["rows_per_bin"] == notes["first_rows_per_bin"]
    assert sorted(notes["rows_per_bin"]) == [100, 100, 101, 101]


def test_without_reach_no_row_moves() -> None:
    notes = replace(SMALL, reach=0).fit(noise(400), seed=0, processes=1).notes
    (told,) = notes["rounds"]
    assert (told["moved"], told["rows_per_bin"]) == (0.0, notes["first_rows_per_bin"])
    assert told["loss_after"] == told["loss_before"]


def fits_of(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Boosting]]:
    """Records what each fit is asked for, in order."""
    asked: list[tuple[str, Boosting]] = []

    def spied(name: str) -> None:
        original = getattr(cascade, name)

        def spy(fitting: Any, size: Boosting, *rest: Any) -> Any:
            asked.append((name, size))
            return original(fitting, size, *rest)

        monkeypatch.setattr(cascade, name, spy)

    for name in ("ask_expert", "fit_expert", "fit_classifier"):
        spied(name)
    return asked


def of_kind(asked: Sequence[tuple[str, Boosting]], name: str) -> list[Boosting]:
    return [size for kind, size in asked if kind == name]


def test_the_published_shape_fits_52_experts_at_most_and_the_last_13_serve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published = replace(
        cast(Cascade, ESTIMATORS["cascade-published"]),
        expert_trees=3,
        deciding_trees=2,
        classifier_trees=1,
    )
    moving(monkeypatch, back_and_forth(26))
    asked = fits_of(monkeypatch)
    fitted = published.fit(noise(13 * 80), seed=0, processes=1)
    deciding, serving = of_kind(asked, "ask_expert"), of_kind(asked, "fit_expert")
    assert (len(deciding), len(serving)) == (39, 13)
    assert {size.trees for size in deciding} == {2}
    assert {size.trees for size in serving} == {3}
    assert {size.leaves for size in deciding + serving} == {255}
    assert {size.learning_rate for size in deciding + serving} == {0.03}
    assert fitted.notes["trees_per_expert"] == [3] * 13


def test_experts_are_asked_then_the_classifier_is_fitted_and_then_the_experts_that_serve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = fits_of(monkeypatch)
    replace(SMALL, reach=0).fit(noise(400), seed=0, processes=1)
    in_order = ["ask_expert"] * 4 + ["fit_classifier"] + ["fit_expert"] * 4
    assert [name for name, _ in asked] == in_order


def test_each_kind_of_fit_has_constants_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fits_of(monkeypatch)
    estimator = Cascade(
        bins=2,
        rounds=1,
        least_rows_per_leaf=6,
        expert_trees=2,
        expert_leaves=7,
        expert_learning_rate=0.2,
        deciding_trees=3,
        classifier_trees=4,
        classifier_leaves=5,
        classifier_learning_rate=0.4,
    )
    estimator.fit(noise(200), seed=0, processes=1)
    assert dict(asked) == {
        "ask_expert": Boosting(3, 7, 0.2, 6),
        "fit_expert": Boosting(2, 7, 0.2, 6),
        "fit_classifier": Boosting(4, 5, 0.4, 6),
    }
