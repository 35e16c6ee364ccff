"""Candidates: names, ids, overrides, duplicates, and what excludes them."""

from typing import Any

import pytest

from tests.support import checked, excluded, preferred
from tests.unit.ranking.hand_made import answer_to, hand_made, hardware, job, rates

NAMED = hand_made(
    [
        hardware("p4d.24xlarge", aliases=["ml.p4d.24xlarge", "A100", "A100-SXM4-40GB"]),
        hardware("a100-80gb"),
        hardware("h100", vendor="NVIDIA"),
        hardware("trn1.32xlarge", vendor="AWS"),
    ]
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ml.p4d.24xlarge", "p4d.24xlarge"),
        ("P4D.24XLARGE", "p4d.24xlarge"),
        (" p4d.24xlarge ", "p4d.24xlarge"),
        ("A100", "p4d.24xlarge"),
        ("a100", "p4d.24xlarge"),
        ("A100-80GB", "a100-80gb"),
        ("A100-SXM4-40GB", "p4d.24xlarge"),
        ("H100", "h100"),
        ("trn1.32xlarge", "trn1.32xlarge"),
    ],
)
def test_a_name_is_found_exactly_after_trimming_and_case_folding_or_by_alias(
    name: str, found: str
) -> None:
    answer = checked(answer_to(NAMED, [name]))
    assert [(e["id"], e["hardware_type"]) for e in answer["preference"]] == [(found, found)]


@pytest.mark.parametrize("name", ["H100-MEGA", "NVIDIA", "tpu-v5e", "A100-80", "p4d"])
def test_a_name_that_the_catalogue_does_not_know_is_never_guessed(name: str) -> None:
    answer = checked(answer_to(NAMED, [name, "h100"]))
    assert excluded(answer) == [(name, "unknown_hardware")]
    assert answer["excluded"][0]["hardware_type"] == name
    assert preferred(answer) == ["h100"]


@pytest.mark.parametrize(
    "candidate",
    [
        *("", "  ", None, 5, True, [], ["h100"], {}, "x" * 257, "\ud800"),
        {"hardware_type": None},
        {"hardware_type": 7},
        {"hardware_type": "h100", "id": 7},
        {"hardware_type": "h100", "id": " "},
        {"hardware_type": "h100", "id": "x" * 257},
        {"hardware_type": "h100", "num_trainers": 0},
        {"hardware_type": "h100", "num_trainers": "4"},
        {"hardware_type": "h100", "num_trainers": True},
        {"hardware_type": "h100", "num_trainers": 64.5},
        {"hardware_type": "h100", "batch_size": -1},
        {"hardware_type": "h100", "batch_size": float("nan")},
        {"hardware_type": "h100", "accelerators_per_host": 0},
        {"hardware_type": "h100", "config": "bf16"},
        {"hardware_type": "h100", "config": {"lr": float("inf")}},
        {"hardware_type": "h100", "allocation": ["us-east-1a"]},
    ],
)
def test_a_fault_of_a_candidate_excludes_that_candidate(candidate: Any) -> None:
    answer = checked(answer_to(NAMED, [candidate, "a100-80gb"]))
    assert preferred(answer) == ["a100-80gb"]
    assert [reason for _, reason in excluded(answer)] == ["invalid_candidate"]
    assert answer["excluded"][0]["detail"]


@pytest.mark.parametrize(
    ("column", "override", "expected"),
    [
        ("job.num_trainers", {"num_trainers": 4}, 4),
        ("job.num_trainers", {"num_trainers": 4.0}, 4),
        ("job.num_trainers", {"num_trainers": None}, 2),
        ("job.batch_size", {"batch_size": 16}, 16),
        ("job.batch_size", {}, 64),
        ("ratio.accelerators_per_host", {"accelerators_per_host": 3}, 3),
        ("ratio.accelerators_per_host", {}, 8),
        ("config.readers", {"config": {"readers": 12}}, 12),
        ("config.readers", {"config": {"other": 1}}, 6),
        ("config.readers", {"config": {}}, 6),
        ("config.readers", {"config": None}, 6),
        ("allocation.slots", {"allocation": {"slots": 5}}, 5),
    ],
)
def test_a_candidate_s_own_values_override_the_job_s(
    column: str, override: dict[str, Any], expected: float
) -> None:
    artifact = hand_made([hardware("a", accelerators_per_host=8)], column)
    asked = job(num_trainers=2, config={"readers": 6})
    predicted = rates(artifact, [{"hardware_type": "a", **override}], job=asked)
    assert predicted == {"a": expected}


def test_an_override_is_of_one_candidate_only() -> None:
    artifact = hand_made([hardware("a"), hardware("b")], "config.readers")
    candidates = [{"hardware_type": "a", "config": {"readers": 12}}, "b"]
    predicted = rates(artifact, candidates, job=job(config={"readers": 6}))
    assert predicted == {"a": 12, "b": 6}


def test_hosts_of_the_candidate_divide_its_samples_per_dollar() -> None:
    artifact = hand_made([hardware("a")])
    wide = {"hardware_type": "a", "id": "wide", "num_trainers": 4}
    answer = answer_to(artifact, [wide, "a"])
    assert [(e["id"], e["num_trainers"]) for e in answer["preference"]] == [("a", 1), ("wide", 4)]
    assert answer["preference"][1]["samples_per_dollar"] == pytest.approx(100 * 3600 / 4)


def test_the_first_of_two_with_one_id_counts_also_by_alias() -> None:
    first = {"hardware_type": "A100", "cost_per_hour": 2}
    second = {"hardware_type": "p4d.24xlarge", "cost_per_hour": 1}
    third = {"hardware_type": "h100", "id": "p4d.24xlarge"}
    answer = checked(answer_to(NAMED, [first, second, third, "h100"]))
    assert preferred(answer) == ["h100", "p4d.24xlarge"]
    assert answer["preference"][1]["cost_per_hour"] == 2
    assert excluded(answer) == [("p4d.24xlarge", "duplicate")] * 2


def test_an_unknown_name_twice_is_one_unknown_and_one_duplicate() -> None:
    answer = checked(answer_to(NAMED, ["moon", "moon"]))
    assert excluded(answer) == [("moon", "unknown_hardware"), ("moon", "duplicate")]


def test_the_first_counts_even_where_it_is_excluded() -> None:
    answer = checked(answer_to(NAMED, [{"hardware_type": "h100", "cost_per_hour": 0}, "h100"]))
    assert excluded(answer) == [("h100", "no_cost"), ("h100", "duplicate")]


def test_an_invalid_id_does_not_make_the_next_candidate_a_duplicate() -> None:
    answer = checked(answer_to(NAMED, [{"hardware_type": "h100", "id": 5}, "h100"]))
    assert preferred(answer) == ["h100"]


def test_types_with_too_few_training_rows_are_not_ranked() -> None:
    artifact = hand_made(
        [hardware("known"), hardware("thin"), hardware("new")], rows={"known": 50, "thin": 49}
    )
    answer = checked(answer_to(artifact, ["known", "thin", "new"]))
    assert preferred(answer) == ["known"]
    assert excluded(answer) == [("thin", "untrained_hardware"), ("new", "untrained_hardware")]


def test_an_untrained_type_is_ranked_and_marked_where_the_request_allows_it() -> None:
    artifact = hand_made([hardware("known"), hardware("new", 200)], rows={"known": 50})
    answer = checked(answer_to(artifact, ["known", "new"], allow_untrained=True))
    assert preferred(answer) == ["new", "known"]
    assert answer["preference"][0]["extrapolated"] is True
    assert "extrapolated" not in answer["preference"][1]


def test_the_least_training_rows_come_from_the_artifact() -> None:
    artifact = hand_made([hardware("a")], rows={"a": 10}, min_hardware_rows=10)
    assert preferred(answer_to(artifact, ["a"])) == ["a"]
    artifact = hand_made([hardware("a")], rows={"a": 10}, min_hardware_rows=11)
    assert excluded(answer_to(artifact, ["a"])) == [("a", "untrained_hardware")]


def test_all_excluded_says_so_and_names_the_model() -> None:
    answer = checked(answer_to(NAMED, ["moon", None]))
    assert (answer["preference"], answer["reason"]) == ([], "all_excluded")
    assert answer["model_version"] == "v1"
    assert len(answer["excluded"]) == 2


@pytest.mark.parametrize("per_host", [1e7, 1e300])
def test_absurd_accelerators_exclude_their_candidate_only(per_host: float) -> None:
    absurd = {"hardware_type": "h100", "id": "absurd", "accelerators_per_host": per_host}
    answer = checked(answer_to(NAMED, [absurd, "h100"]))
    assert excluded(answer) == [("absurd", "invalid_candidate")]
    assert preferred(answer) == ["h100"]
