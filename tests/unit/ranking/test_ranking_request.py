"""The request as a whole: how many candidates, how large, and the job's own fields."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from leap_model import Ranker
from leap_model.limits import MOST_REQUEST_BYTES
from leap_model.request import is_small
from tests.support import checked, preferred, request
from tests.unit.ranking.hand_made import hand_made, hardware, job, ranker_of


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        ([], "no_candidates"),
        (None, "no_candidates"),
        ("fast-8", "invalid_request"),
        ({"hardware_type": "fast-8"}, "invalid_request"),
        (5, "invalid_request"),
        ({}, "invalid_request"),
        (["fast-8"] * 1001, "invalid_request"),
        (["fast-8"] * 10_000, "invalid_request"),
    ],
)
def test_candidates_that_are_none_or_no_list(ranker: Ranker, candidates: Any, reason: str) -> None:
    answer = checked(ranker.rank(request(candidates=candidates)))
    assert (answer["preference"], answer["reason"]) == ([], reason)
    if reason == "invalid_request":
        assert answer["detail"].startswith("candidates")


def test_a_request_without_candidates_has_none(ranker: Ranker) -> None:
    without = request()
    del without["candidates"]
    assert checked(ranker.rank(without))["reason"] == "no_candidates"


def test_one_candidate_is_a_preference(ranker: Ranker) -> None:
    assert preferred(checked(ranker.rank(request(candidates=["mid-8"])))) == ["mid-8"]


def test_a_thousand_candidates_are_ranked(ranker: Ranker) -> None:
    candidates = [{"hardware_type": "mid-8", "id": f"zone-{at:04}"} for at in range(1000)]
    answer = checked(ranker.rank(request(candidates=candidates)))
    assert preferred(answer) == [f"zone-{at:04}" for at in range(1000)]


def _of_size(size: int) -> dict[str, Any]:
    whole = request(filler="")
    return request(filler="x" * (size - len(json.dumps(whole))))


def test_a_request_may_have_256_kilobytes_and_no_more(ranker: Ranker) -> None:
    assert checked(ranker.rank(_of_size(MOST_REQUEST_BYTES)))["reason"] is None
    answer = checked(ranker.rank(_of_size(MOST_REQUEST_BYTES + 1)))
    assert answer["reason"] == "invalid_request"
    assert "256 KB" in answer["detail"]


@pytest.mark.parametrize(
    "filler",
    [
        *(
            "\x00" * 60,
            "é" * 60,
            "\U0001f600" * 60,
            "\ud800" * 60,
            "",
            None,
            True,
            10**300,
            -(2**31),
        ),
        *(5e-324, -1.7976931348623157e308, [None] * 60, [[]], [{}], {"": None}, {"\x01": "a"}),
    ],
    ids=lambda value: repr(value)[:12].encode("ascii", "backslashreplace").decode(),
)
def test_what_passes_for_small_is_small(monkeypatch: pytest.MonkeyPatch, filler: Any) -> None:
    # The quick look takes what it lets pass for at most as much JSON as there may be.
    for most in (10, 100, 400, 1_000, 10_000):
        monkeypatch.setattr("leap_model.limits.MOST_REQUEST_BYTES", most)
        asked = {"filler": filler, "again": [filler] * 3}
        assert not is_small(asked) or len(json.dumps(asked)) <= most
    assert is_small(asked)


@pytest.mark.parametrize("value", [object(), MappingProxyType({})], ids=["object", "mapping"])
def test_what_cannot_be_sized_quickly_is_sized_as_json(value: Any) -> None:
    assert not is_small({"filler": value})


def test_non_ascii_text_counts_by_its_bytes(ranker: Ranker) -> None:
    asked = request(filler="é" * 60_000)
    assert len(json.dumps(asked, ensure_ascii=False).encode()) < MOST_REQUEST_BYTES
    assert checked(ranker.rank(asked))["reason"] is None


@pytest.mark.parametrize("document", [None, 5, "x", [], True, [request()], {1, 2}, object()])
def test_a_request_that_is_no_object_is_invalid(ranker: Ranker, document: Any) -> None:
    answer = checked(ranker.rank(document))
    assert (answer["reason"], answer["model_version"]) == ("invalid_request", None)


def test_a_request_that_holds_itself_is_invalid(ranker: Ranker) -> None:
    loop = request()
    loop["self"] = loop
    assert checked(ranker.rank(loop))["reason"] == "invalid_request"


def test_unknown_keys_are_tolerated(ranker: Ranker) -> None:
    asked = request(trace_id="t", owner=None)
    asked["job"]["team"] = {"nested": [1]}
    asked["candidates"] = [{"hardware_type": "mid-8", "zone": "a", "weights": [1]}]
    assert preferred(checked(ranker.rank(asked))) == ["mid-8"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job_name", None),
        ("job_name", ""),
        ("job_name", 5),
        ("job_name", "x" * 1025),
        ("job_family", 5),
        ("model_type", None),
        ("model_type", "  "),
        ("model_type", ["bert"]),
        *(("num_trainers", bad) for bad in (None, 0, -1, True, "64", " 64 ", 64.5, 10**30)),
        *(("num_trainers", bad) for bad in (float("nan"), float("inf"))),
        *(("batch_size", bad) for bad in (None, 0, -2, False, "64", float("nan"), 10**400)),
        ("accelerators_per_host", 0),
        ("accelerators_per_host", "8"),
        ("config", []),
        ("config", "bf16"),
        ("config", {"lr": float("nan")}),
        ("config", {"": 1}),
        ("config", {f"k{at}": at for at in range(1001)}),
        ("architecture", 3),
        ("architecture", {"params_m": "25"}),
        ("architecture", {"params_m": True}),
    ],
)
def test_a_fault_of_the_job_is_invalid_request_and_names_the_field(
    ranker: Ranker, field: str, value: Any
) -> None:
    asked = request()
    asked["job"][field] = value
    answer = checked(ranker.rank(asked))
    assert (answer["preference"], answer["excluded"]) == ([], [])
    assert answer["reason"] == "invalid_request"
    assert f"job.{field}" in answer["detail"]


@pytest.mark.parametrize("field", ["job_name", "model_type", "num_trainers", "batch_size"])
def test_a_field_that_the_job_needs_is_named_as_missing(ranker: Ranker, field: str) -> None:
    asked = request()
    del asked["job"][field]
    assert checked(ranker.rank(asked))["detail"].startswith(f"job.{field} is missing")


@pytest.mark.parametrize("value", [None, 5, "job", []])
def test_a_job_that_is_no_object_is_invalid(ranker: Ranker, value: Any) -> None:
    answer = checked(ranker.rank(request(job=value)))
    assert (answer["reason"], answer["detail"][:3]) == ("invalid_request", "job")


def test_integers_may_be_written_as_64_0(ranker: Ranker) -> None:
    asked = request()
    asked["job"]["num_trainers"] = 2.0
    assert checked(ranker.rank(asked))["preference"][0]["num_trainers"] == 2


def test_nested_configuration_is_dropped_and_the_rest_stays() -> None:
    artifact = hand_made([hardware("a")], "config.readers")
    asked = {"job": job(config={"readers": 6, "mesh": {"dp": 4}, "list": [1]}), "candidates": ["a"]}
    answer = checked(ranker_of(artifact).rank(asked))
    assert answer["preference"][0]["throughput"] == pytest.approx(6)


@pytest.mark.parametrize(
    "value",
    ["2026-01-12T10:11:12Z", "2026-01-12T10:11:12+05:30", "2026-01-12T10:11:12.5Z", None],
)
def test_launched_at_is_a_time_with_a_zone_or_now(ranker: Ranker, value: Any) -> None:
    assert checked(ranker.rank(request(launched_at=value)))["reason"] is None


@pytest.mark.parametrize(
    "value",
    ["2026-01-12T10:11:12", "2026-01-12", "", "yesterday", 1767225600, 1767225600000, True, []],
)
def test_launched_at_without_a_zone_or_of_another_kind_is_invalid(
    ranker: Ranker, value: Any
) -> None:
    answer = checked(ranker.rank(request(launched_at=value)))
    assert answer["reason"] == "invalid_request"
    assert answer["detail"].startswith("launched_at")


@pytest.mark.parametrize("value", ["true", 1, 0, [], {}])
def test_allow_untrained_is_true_or_false(ranker: Ranker, value: Any) -> None:
    answer = checked(ranker.rank(request(allow_untrained=value)))
    assert answer["reason"] == "invalid_request"
    assert answer["detail"].startswith("allow_untrained")


@pytest.mark.parametrize("value", ["", "  "])
def test_a_blank_job_family_is_read_as_in_an_attempt(ranker: Ranker, value: str) -> None:
    asked = request()
    asked["job"]["job_family"] = value
    assert checked(ranker.rank(asked))["reason"] is None
