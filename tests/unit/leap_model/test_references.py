"""What resembles a job: hand-made cells, and corrections worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.catalogue import parse_catalogue
from leap_model.columns import Labels
from leap_model.history import family_hashes
from leap_model.intervals import COLD, OWN_ELSEWHERE, OWN_HERE, UNFAMILIAR
from leap_model.limits import DAY_US
from leap_model.references import (
    COLUMNS,
    MOST_VOTES,
    Recall,
    References,
    asked_of,
    recall_of,
    sizes_of,
    weighted_median,
)
from tests.support import CATALOGUE
from tests.unit.leap_model.builders import jobs_of
from tests.unit.leap_model.cells_by_hand import (
    HARDWARE,
    NOW,
    PLAIN,
    asked_for,
    cell,
    cells_of,
    known_of,
    rest_of,
)

CATALOGUED = parse_catalogue(CATALOGUE)


def shrunk(rest: float, weight: float, recall: Recall = PLAIN) -> Any:
    """A correction by cells of one rest that weigh so much."""
    return pytest.approx(rest * weight / (weight + recall.shrink), rel=1e-5)


def test_without_cells_nothing_is_corrected() -> None:
    known = known_of((), (), PLAIN, {}, {"on": None}, {"family": "other"})
    assert (known.rest.tolist(), known.level.tolist(), known.own.tolist()) == ([0] * 3,) * 3
    assert known.what.tolist() == [UNFAMILIAR] * 3
    assert known_of([cell("other", 1.0)], [cell("of another type", 1.0)]).rest.tolist() == [0.0]


def test_of_no_job_nothing_is_known() -> None:
    references = References(cells_of(cell("mine", 1.0)), cells_of(), HARDWARE, PLAIN)
    known = references.recalled(asked_for())
    assert all(len(getattr(known, name)) == 0 for name in ("rest", "level", "own", "what"))


# What a cell weighs.


def test_one_attempt_of_the_own_family_here_weighs_one() -> None:
    assert rest_of([cell("mine", 0.4)]) == shrunk(0.4, 1.0)


@pytest.mark.parametrize(
    ("where", "weight"),
    [
        ({"votes": 3}, 3.0),
        ({"votes": 8}, MOST_VOTES),
        ({"votes": 1_000}, MOST_VOTES),
        ({"on": "mid-8"}, 0.25),
        ({"far": 1.0}, np.exp(-0.5)),
        ({"far": -1.0}, np.exp(-0.5)),
        ({"far_samples": 4.0}, np.exp(-2.0)),
        ({"far": 1.0, "far_samples": -2.0}, np.exp(-1.5)),
        ({"far": np.nan}, np.exp(-1.0)),
        ({"far_samples": np.nan}, np.exp(-1.0)),
        ({"last": NOW - 15 * DAY_US}, np.exp(-0.5)),
        ({"last": NOW + 15 * DAY_US}, 1.0),
        ({"on": "slow-4", "votes": 2, "far": 2.0, "last": NOW - 30 * DAY_US}, 0.5 * np.exp(-2.0)),
    ],
)
def test_weights_fall_as_stated(where: dict[str, Any], weight: float) -> None:
    assert rest_of([cell("mine", 0.4, **where)]) == shrunk(0.4, weight)
    assert rest_of((), [cell("type", 0.4, **where)]) == shrunk(0.4, 0.1 * weight)


@pytest.mark.parametrize("shrink", [0.5, 1.0, 5.0])
def test_at_the_weight_of_shrink_half_is_believed(shrink: float) -> None:
    recall = replace(PLAIN, shrink=shrink)
    assert rest_of([cell("mine", 0.4, votes=shrink)], (), recall) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("constant", "less", "more", "where"),
    [
        ("elsewhere", 0.1, 0.9, {"on": "mid-8"}),
        ("distance", 0.5, 4.0, {"far": 1.0}),
        ("days", 2.0, 90.0, {"last": NOW - 10 * DAY_US}),
    ],
)
def test_each_constant_decides_what_it_is_named_for(
    constant: str, less: float, more: float, where: dict[str, Any]
) -> None:
    low, high = (replace(PLAIN, **{constant: value}) for value in (less, more))
    assert rest_of([cell("mine", 0.4, **where)], (), low) < rest_of(
        [cell("mine", 0.4, **where)], (), high
    )
    assert rest_of([cell("mine", 0.4)], (), low) == rest_of([cell("mine", 0.4)], (), high)


def test_the_own_family_here_beats_strangers_and_its_past_elsewhere() -> None:
    mine = [cell("mine", 0.4), cell("mine", -0.6, on="mid-8"), cell("mine", -0.6, on="slow-4")]
    strangers = [cell("type", -0.9, votes=2), cell("type", -0.9, on="mid-8", votes=2)]
    theirs, own = 0.1 * (2 + 0.25 * 2), 1 + 2 * 0.25
    expected = -0.9 * theirs / (theirs + PLAIN.shrink)
    believed = own / (own + PLAIN.shrink)
    assert rest_of(mine, strangers) == pytest.approx(
        expected + believed * (0.4 - expected), rel=1e-5
    )


def test_a_popular_model_type_does_not_outvote_a_family() -> None:
    crowd = [cell("type", -0.9, votes=8) for _ in range(200)]
    assert rest_of([cell("mine", 0.4)], crowd) == pytest.approx((0.4 - 0.9) / 2, abs=0.01)


def test_on_hardware_that_never_ran_everything_is_elsewhere() -> None:
    rest = known_of([cell("mine", 0.4)], (), PLAIN, {"on": None}).rest
    assert rest.tolist() == [shrunk(0.4, 0.25)]


def test_each_job_recalls_its_own() -> None:
    families = [cell("mine", 0.4), cell("other", -0.2), cell("other", -0.2, on="mid-8")]
    jobs = [{}, {"family": "other"}, {"family": "third"}, {"family": "other", "on": "slow-4"}, {}]
    together = known_of(families, [cell("type", 0.1)], PLAIN, *jobs)
    for at, job in enumerate(jobs):
        alone = known_of(families, [cell("type", 0.1)], PLAIN, job)
        for name in ("rest", "level", "own", "what"):
            assert getattr(together, name)[at] == getattr(alone, name)[0]
    here, elsewhere = OWN_HERE, OWN_ELSEWHERE
    assert together.what.tolist() == [here, here, COLD, elsewhere, here]


def test_sizes_that_nobody_knows_are_a_distance_away_and_nothing_is_no_number() -> None:
    known = known_of([cell("mine", 0.4)], [cell("type", 0.2)], PLAIN, {"far": np.nan}, {})
    assert known.rest[0] < known.rest[1]
    assert np.all(np.isfinite(known.rest + known.level + known.own))


# How far a correction goes.


@given(
    rests=st.lists(st.floats(-1e6, 1e6, width=32), max_size=6),
    strangers=st.lists(st.floats(-1e6, 1e6, width=32), max_size=6),
    most=st.floats(0, 3),
)
def test_no_correction_exceeds_the_most(
    rests: list[float], strangers: list[float], most: float
) -> None:
    recall = replace(PLAIN, most=most)
    families = [cell("mine", rest, votes=8) for rest in rests]
    rest = rest_of(families, [cell("type", rest) for rest in strangers], recall)
    assert abs(rest) <= most
    sides = [*rests, *strangers, 0.0]
    assert min(sides) <= rest <= max(sides)


@pytest.mark.parametrize("absurd", [-1e6, 1e6, -3.0, 3.0])
def test_one_absurd_cell_among_several_moves_nothing(absurd: float) -> None:
    honest = [cell("mine", 0.4, far=far) for far in (0.0, 0.0, 0.0)]
    assert rest_of([*honest, cell("mine", absurd)]) == shrunk(0.4, 4.0)


# The family's own level.


def test_the_level_is_of_the_own_family_on_this_hardware() -> None:
    mine = [cell("mine", 0.0, level=2.5), cell("mine", 0.0, level=9.0, on="mid-8", votes=8)]
    known = known_of(mine, [cell("type", 0.0, level=7.0, votes=8)])
    assert known.level.tolist() == [2.5]
    assert known.own.tolist() == [pytest.approx(PLAIN.own * 1 / (1 + PLAIN.shrink))]


def test_elsewhere_the_level_counts_nothing() -> None:
    known = known_of([cell("mine", 0.0, level=2.5)], (), PLAIN, {"on": "mid-8"}, {"on": None})
    assert known.own.tolist() == [0.0, 0.0]
    assert known.level.tolist() == [0.0, 0.0]


# The level of its model type, where the family never ran on the hardware type.

PEERS = replace(PLAIN, peers=0.8, near=0.5)


def test_without_the_own_family_here_the_level_is_of_the_nearest_of_the_model_type() -> None:
    theirs = [
        cell("type", 0.0, level=7.0, votes=2, far=0.25),
        cell("type", 0.0, level=3.0, votes=2, far=2.0),
        cell("type", 0.0, level=1.0, votes=8, on="mid-8"),
    ]
    elsewhere = cell("mine", 0.0, level=9.0, on="mid-8", votes=8)
    weight = 2 * (np.exp(-0.25 / 0.5) + np.exp(-2.0 / 0.5))
    for mine in ((), (elsewhere,)):
        known = known_of(mine, theirs, PEERS)
        assert known.level.tolist() == [7.0]
        assert known.own.tolist() == [pytest.approx(0.8 * weight / (weight + PEERS.shrink))]


def test_the_own_family_here_is_believed_and_its_peers_are_not() -> None:
    mine, theirs = [cell("mine", 0.0, level=2.5)], [cell("type", 0.0, level=7.0, votes=8)]
    jobs = ({"family": "mine"}, {"family": "other"})
    with_peers, without = (known_of(mine, theirs, recall, *jobs) for recall in (PEERS, PLAIN))
    assert with_peers.level.tolist() == [2.5, 7.0]
    assert with_peers.own[0] == without.own[0]
    assert without.own[1] == 0.0


def test_peers_on_other_hardware_tell_no_level() -> None:
    theirs = [cell("type", 0.0, level=7.0, votes=8)]
    known = known_of((), theirs, PEERS, {"on": "mid-8"}, {"on": None}, {"model_type": "other"})
    assert known.own.tolist() == [0.0] * 3


def test_the_rest_is_the_same_whatever_peers_count() -> None:
    mine, theirs = [cell("mine", 0.4, far=1.0)], [cell("type", -0.2, votes=3)]
    assert rest_of(mine, theirs, PEERS) == rest_of(mine, theirs)


def test_columns_are_named_in_the_order_of_the_model() -> None:
    known = known_of([cell("mine", 0.4, level=2.0)])
    assert tuple(known.columns()) == COLUMNS
    assert [*known.columns().values()] == [known.rest, known.level, known.own]


# The weighted median.

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=7)


@given(VALUES, st.data())
def test_the_median_is_the_first_value_that_reaches_half_of_the_weight(
    values: list[int], data: st.DataObject
) -> None:
    size = len(values)
    weights = data.draw(st.lists(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    table = np.array(weights, np.float64).reshape(-1, size)
    middle, total = weighted_median(np.array(values, np.float64), table)
    for at, row in enumerate(weights):
        copies = sorted(
            value for value, count in zip(values, row, strict=True) for _ in [0] * count
        )
        assert total[at] == len(copies)
        assert middle[at] == (copies[(len(copies) - 1) // 2] if copies else 0.0)


def test_the_median_of_nothing_is_zero() -> None:
    middle, total = weighted_median(np.zeros(0), np.zeros((3, 0)))
    assert (middle.tolist(), total.tolist()) == ([0.0] * 3, [0.0] * 3)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 1)), min_size=1, max_size=30))
def test_half_of_any_weight_lies_on_either_side(pairs: list[tuple[float, float]]) -> None:
    values, weights = (np.array(part) for part in zip(*pairs, strict=True))
    (middle,), (total,) = weighted_median(values, weights.reshape(1, -1))
    if total > 0:
        assert weights[values <= middle].sum() >= 0.5 * total * (1 - 1e-12)
        assert weights[values < middle].sum() <= 0.5 * total * (1 + 1e-12)


# Jobs in the terms of references.


def test_a_job_is_asked_for_by_hashes_place_size_and_launch() -> None:
    jobs = jobs_of(
        [
            {"family": "f", "model_type": "m", "hardware_type": "slow-4", "num_trainers": 3},
            {"hardware_type": "nobody's", "batch_size": 10, "launched_at": 5},
            {"hardware_type": "mid-8", "accelerators_per_host": 2, "num_trainers": 4},
        ]
    )
    asked = asked_of(jobs, family_hashes(jobs.family), CATALOGUED, HARDWARE)
    assert asked.hardware.tolist() == [2, -1, 1]
    assert asked.family[0] == family_hashes(Labels.of(["f"]))[0]
    assert asked.model_type[0] == family_hashes(Labels.of(["m"]))[0]
    assert asked.at[1] == 5
    expected = np.log(np.array([[12, 192], [np.nan, 10], [8, 256]]))
    np.testing.assert_allclose(asked.size, expected, rtol=1e-6)
    assert asked.size.dtype == np.float32


def test_an_absurd_size_is_an_unknown_one() -> None:
    jobs = jobs_of([{"batch_size": 1e308, "num_trainers": 1e6}, {"accelerators_per_host": 1e308}])
    sizes = sizes_of(jobs, CATALOGUED)
    assert np.isnan(sizes[0, 1])
    assert not np.any(np.isinf(sizes))


# Constants.


def test_constants_survive_being_json() -> None:
    recall = Recall(0.1, 0.2, 0.0, 0.4, 0.5, 0.0, 0.6, 0.7, 0.0)
    assert recall_of(recall.to_json()) == recall
    assert recall_of({}) == Recall()
    assert recall_of({"shrink": 2}).shrink == 2.0


@pytest.mark.parametrize("name", Recall().to_json())
@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, -np.inf, "many", None, [1.0], {}])
def test_a_constant_that_means_nothing_is_refused(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        recall_of(Recall().to_json() | {name: value})


@pytest.mark.parametrize("name", ["shrink", "distance", "days", "near"])
def test_a_constant_that_divides_is_not_zero(name: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        recall_of({name: 0.0})


@pytest.mark.parametrize("document", [{"more": 1.0}, {"Shrink": 1.0}])
def test_a_constant_that_nobody_knows_is_refused(document: dict[str, float]) -> None:
    with pytest.raises(TypeError):
        recall_of(document)
