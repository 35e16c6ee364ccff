"""What holds of every request, whatever is in it."""

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leap_model import Ranker
from tests.support import checked, preferred, request
from tests.unit.ranking.hand_made import answer_to, hand_made, hardware

many = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

scalar = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["fast-8", "ML.FAST-8", "\ud800", "2026-01-12T10:11:12Z", "\n{}", "🚀"])
)
junk = st.recursive(
    scalar,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.sampled_from(["job", "id"]), inner, max_size=4)
    ),
    max_leaves=12,
)
costs = st.floats(1e-3, 1e6)
candidate = st.fixed_dictionaries(
    {"hardware_type": st.sampled_from(["fast-8", "mid-8", "slow-4", "unpriced-8", "moon", ""])},
    optional={
        "id": st.sampled_from("abcdefgh"),
        "cost_per_hour": costs | st.sampled_from([0, -1, "32", None]),
        "num_trainers": st.integers(0, 64),
        "batch_size": st.floats(1, 1e4),
        "accelerators_per_host": st.integers(1, 16),
        "config": st.dictionaries(st.sampled_from(["lr", "precision", "x"]), scalar, max_size=3),
        "allocation": st.dictionaries(st.sampled_from(["zone", "x"]), scalar, max_size=2),
    },
)
apart = st.lists(candidate, max_size=8).map(
    lambda entries: [{**entry, "id": f"c{at}"} for at, entry in enumerate(entries)]
)
"""Candidates with an id of their own each."""


def _without_id(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ranking_id"}


@many
@given(document=junk)
def test_any_document_gets_an_answer(ranker: Ranker, document: Any) -> None:
    answer = checked(ranker.rank(document))
    assert answer["preference"] == []


@many
@given(job=junk, candidates=st.lists(junk, max_size=5) | junk, launched_at=scalar, more=junk)
def test_any_parts_get_an_answer(
    ranker: Ranker, job: Any, candidates: Any, launched_at: Any, more: Any
) -> None:
    asked = {"job": job, "candidates": candidates, "launched_at": launched_at, "more": more}
    checked(ranker.rank(asked))


@many
@given(data=st.data())
def test_a_valid_request_with_one_value_replaced_gets_an_answer(
    ranker: Ranker, data: st.DataObject
) -> None:
    asked = request(allow_untrained=False)
    asked["candidates"] = [{"hardware_type": "fast-8", "config": {}, "id": "x"}, "mid-8"]
    place: Any = asked
    while True:
        at = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place))))
        )
        inner = place[at]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[at] = data.draw(junk)
    checked(ranker.rank(asked))


@many
@given(candidates=st.lists(candidate, max_size=8))
def test_an_answer_accounts_for_every_candidate_once(
    ranker: Ranker, candidates: list[dict[str, Any]]
) -> None:
    answer = checked(ranker.rank(request(candidates=candidates)))
    if answer["reason"] in (None, "all_excluded"):
        assert len(answer["preference"]) + len(answer["excluded"]) == len(candidates)
    assert len(set(preferred(answer))) == len(answer["preference"])


@many
@given(candidates=apart, data=st.data())
def test_the_order_of_candidates_changes_nothing(
    ranker: Ranker, candidates: list[dict[str, Any]], data: st.DataObject
) -> None:
    first = checked(ranker.rank(request(candidates=candidates)))
    second = checked(ranker.rank(request(candidates=data.draw(st.permutations(candidates)))))
    assert first["preference"] == second["preference"]
    assert first["reason"] == second["reason"]
    by_text = [sorted(map(json.dumps, answer["excluded"])) for answer in (first, second)]
    assert by_text[0] == by_text[1]


@many
@given(
    prices=st.lists(costs, min_size=3, max_size=3),
    power=st.integers(-12, 12),
)
def test_all_costs_times_a_power_of_two_scale_samples_per_dollar_and_keep_the_order(
    ranker: Ranker, prices: list[float], power: int
) -> None:
    def ranked(factor: float) -> list[dict[str, Any]]:
        candidates = [
            {"hardware_type": name, "cost_per_hour": price * factor}
            for name, price in zip(("fast-8", "mid-8", "slow-4"), prices, strict=True)
        ]
        entries: list[dict[str, Any]] = checked(ranker.rank(request(candidates=candidates)))[
            "preference"
        ]
        return entries

    plain, scaled = ranked(1.0), ranked(2.0**power)
    assert [entry["id"] for entry in plain] == [entry["id"] for entry in scaled]
    for one, other in zip(plain, scaled, strict=True):
        assert one["throughput"] == other["throughput"]
        assert one["samples_per_dollar"] == other["samples_per_dollar"] * 2.0**power


@many
@given(candidates=apart)
def test_a_candidate_scores_alone_as_it_does_among_others(
    ranker: Ranker, candidates: list[dict[str, Any]]
) -> None:
    together = checked(ranker.rank(request(candidates=candidates)))
    by_id = {entry["id"]: entry for entry in candidates}
    for entry in together["preference"]:
        alone = checked(ranker.rank(request(candidates=[by_id[entry["id"]]])))
        assert alone["preference"] in ([entry], [])
        assert alone["reason"] in (None, "missing_feature")


def test_three_types_score_alone_as_they_do_together_bit_for_bit(ranker: Ranker) -> None:
    together = checked(ranker.rank(request()))["preference"]
    alone = [
        checked(ranker.rank(request(candidates=[name])))["preference"][0]
        for name in ("fast-8", "mid-8", "slow-4")
    ]
    assert sorted(alone, key=lambda entry: -entry["samples_per_dollar"]) == together


def test_a_thousand_shapes_of_one_type_score_as_one_does(ranker: Ranker) -> None:
    shapes = [{"hardware_type": "mid-8", "id": f"{at:03}"} for at in range(1000)]
    entries = checked(ranker.rank(request(candidates=shapes)))["preference"]
    alone = checked(ranker.rank(request(candidates=shapes[7:8])))["preference"][0]
    assert {entry["throughput"] for entry in entries} == {alone["throughput"]}


def test_the_same_request_gets_the_same_answer_under_another_name(ranker: Ranker) -> None:
    first, second = ranker.rank(request()), ranker.rank(request())
    assert first["ranking_id"] != second["ranking_id"]
    assert _without_id(first) == _without_id(second)


def test_ranking_leaves_the_request_as_it_was(ranker: Ranker) -> None:
    asked = request(candidates=["fast-8", {"hardware_type": "mid-8", "config": {"lr": 1}}])
    kept = copy.deepcopy(asked)
    ranker.rank(asked)
    assert asked == kept


@many
@given(rate=st.lists(st.floats(1e-6, 1e9), min_size=2, max_size=5))
def test_at_equal_cost_the_order_is_that_of_throughput(rate: list[float]) -> None:
    artifact = hand_made([hardware(f"t{at}", value) for at, value in enumerate(rate)])
    entries = checked(answer_to(artifact, [f"t{at}" for at in range(len(rate))]))["preference"]
    throughputs = [entry["throughput"] for entry in entries]
    assert throughputs == sorted(throughputs, reverse=True)
