"""Costs: which are valid, whose they are, and what order they give."""

import json
from typing import Any

import pytest

from tests.support import checked, excluded, preferred
from tests.unit.ranking.hand_made import answer_to, hand_made, hardware, job

ONE = hand_made([hardware("good"), hardware("other", cost_per_hour=None)])


def _per_dollar(answer: dict[str, Any]) -> dict[str, float]:
    return {entry["id"]: entry["samples_per_dollar"] for entry in answer["preference"]}


@pytest.mark.parametrize("cost", [0, -3, "32.77", float("nan"), float("inf"), True, [1], None])
def test_a_candidate_without_a_valid_cost_is_not_ranked_and_its_neighbour_is(cost: Any) -> None:
    answer = checked(answer_to(ONE, [{"hardware_type": "other", "cost_per_hour": cost}, "good"]))
    assert preferred(answer) == ["good"]
    assert excluded(answer) == [("other", "no_cost")]


def test_a_type_that_the_catalogue_does_not_price_needs_a_cost_of_the_candidate() -> None:
    assert excluded(answer_to(ONE, ["other"])) == [("other", "no_cost")]
    priced = answer_to(ONE, [{"hardware_type": "other", "cost_per_hour": 2}])
    assert _per_dollar(priced) == {"other": pytest.approx(100 * 3600 / 2)}


def test_a_bad_cost_is_not_replaced_by_the_catalogue_s() -> None:
    answer = checked(answer_to(ONE, [{"hardware_type": "good", "cost_per_hour": 0}]))
    assert answer["reason"] == "all_excluded"
    assert excluded(answer) == [("good", "no_cost")]
    assert "cost_per_hour" in answer["excluded"][0]["detail"]


def test_costs_are_of_one_host_times_hosts() -> None:
    types = [
        hardware("h8", 4000, accelerators_per_host=8, cost_per_hour=32),
        hardware("h1", 600, accelerators_per_host=1, cost_per_hour=5),
    ]
    answer = answer_to(hand_made(types), ["h1", "h8"])
    assert preferred(answer) == ["h8", "h1"]
    assert _per_dollar(answer) == pytest.approx({"h8": 125 * 3600, "h1": 120 * 3600})
    doubled = answer_to(hand_made(types), ["h1", "h8"], job=job(num_trainers=2))
    assert _per_dollar(doubled) == pytest.approx({"h8": 125 * 1800, "h1": 120 * 1800})


@pytest.mark.parametrize(
    ("candidate", "cost"),
    [
        ({}, 20.0),
        ({"accelerators_per_host": 4}, 10.0),
        ({"cost_per_hour": 3.5}, 3.5),
        ({"cost_per_hour": 3.5, "accelerators_per_host": 4}, 3.5),
    ],
)
def test_a_cost_per_accelerator_is_multiplied_by_the_accelerators_of_the_host(
    candidate: dict[str, Any], cost: float
) -> None:
    row = hardware("a", cost_per_hour=None, cost_per_accelerator_hour=2.5, accelerators_per_host=8)
    answer = answer_to(hand_made([row]), [{"hardware_type": "a", **candidate}])
    assert answer["preference"][0]["cost_per_hour"] == cost


def test_a_cost_per_accelerator_without_a_number_of_accelerators_is_no_cost() -> None:
    row = hardware("a", cost_per_hour=None, cost_per_accelerator_hour=2.5)
    assert excluded(answer_to(hand_made([row]), ["a"])) == [("a", "no_cost")]
    answer = answer_to(hand_made([row]), ["a"], job=job(accelerators_per_host=2))
    assert answer["preference"][0]["cost_per_hour"] == 5.0


def test_one_type_at_two_costs_keeps_each_cost_apart() -> None:
    spot = {"hardware_type": "good", "id": "spot", "cost_per_hour": 20}
    on_demand = {"hardware_type": "good", "id": "on-demand", "cost_per_hour": 35}
    answer = answer_to(ONE, [on_demand, spot])
    shown = [(entry["id"], entry["cost_per_hour"]) for entry in answer["preference"]]
    assert shown == [("spot", 20.0), ("on-demand", 35.0)]
    assert {entry["hardware_type"] for entry in answer["preference"]} == {"good"}


@pytest.mark.parametrize("names", [["b", "a", "c"], ["c", "a", "b"], ["a", "b", "c"]])
def test_ties_break_by_id_whatever_the_order_of_the_request(names: list[str]) -> None:
    artifact = hand_made([hardware(name) for name in "abc"])
    assert preferred(answer_to(artifact, names)) == ["a", "b", "c"]


def test_ties_of_one_type_break_by_id_and_not_by_type() -> None:
    artifact = hand_made([hardware("a"), hardware("b")])
    candidates = [{"hardware_type": "a", "id": "z"}, {"hardware_type": "b", "id": "y"}]
    assert preferred(answer_to(artifact, candidates)) == ["y", "z"]


def test_the_numbers_of_an_answer_are_plain() -> None:
    answer = answer_to(ONE, ["good"])
    assert [type(value) for value in answer["preference"][0].values()] == [
        *(str, str, float, float, int, float, bool)
    ]
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("cost", [1e-307, 1e-310, 5e-324])
def test_a_cost_too_small_to_divide_by_excludes_its_candidate_only(cost: float) -> None:
    answer = answer_to(ONE, [{"hardware_type": "other", "cost_per_hour": cost}, "good"])
    assert preferred(checked(answer)) == ["good"]


def test_a_cost_too_large_to_multiply_ranks_last() -> None:
    dear = {"hardware_type": "good", "id": "dear", "cost_per_hour": 1.7e308}
    answer = checked(answer_to(ONE, [dear, "good"], job=job(num_trainers=1000)))
    assert preferred(answer) == ["good", "dear"]
