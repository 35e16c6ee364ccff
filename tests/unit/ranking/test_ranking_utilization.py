"""A model of utilization beside that of throughput: which premium types it lets stay."""

from collections.abc import Mapping
from typing import Any

import pytest

from leap_model.artifact import Artifact
from leap_model.ranking import rank_with
from leap_model.request import parse_request
from leap_model.source import Serving, Versioned
from leap_model.switches import EVERYONE
from tests.support import checked, excluded, preferred
from tests.unit.ranking.hand_made import hand_made, hardware, job, snapshot_of

Rows = list[dict[str, Any]]


def _chip(name: str, used: float | None, peak: float | None = 100.0, **values: Any) -> Any:
    """A type with a relative efficiency of 100 ÷ peak beside a plain one of peak 100."""
    specifications = {"peak_fp16_tflops": peak, "used": used}
    known = {name: value for name, value in specifications.items() if value is not None}
    return hardware(name, 1.0, accelerators_per_host=1, **known, **values)


def _premium(name: str, used: float | None, peak: float | None = 100.0, **values: Any) -> Any:
    return _chip(name, used, peak, premium=True, **values)


def _utilization(types: Rows, column: str = "hardware.used", **values: Any) -> Artifact:
    """A model that predicts the column as it is."""
    return hand_made(types, column, target="utilization", **values)


def _answer(
    types: Rows,
    utilization: Artifact | None = None,
    candidates: Any = None,
    *,
    throughput: Artifact | None = None,
    premium_filter: bool = True,
    **values: Any,
) -> dict[str, Any]:
    models = throughput or hand_made(types), utilization or _utilization(types)
    serving = Serving(Versioned("t7", models[0]), Versioned("u3", models[1]), EVERYONE)
    asked = candidates or [entry["hardware_type"] for entry in types]
    parsed = parse_request({"job": job(), "candidates": asked, **values})
    return checked(rank_with(serving, parsed, premium_filter=premium_filter))


def _entries(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["id"]: entry for entry in answer["preference"]}


@pytest.mark.parametrize(
    ("used", "floor", "stays"),
    [
        (0.5, None, True),  # the default
        (0.4999, None, False),
        (0.25, 0.25, True),
        (0.25, 0.2501, False),
        (1e-6, 0.0, True),
        (1.0, 1.0, True),
        (0.9999, 1.0, False),
        (3.0, 1.0, True),  # no prediction is above 1
        (3.0, 1.0001, False),
    ],
)
def test_a_premium_type_stays_from_its_floor_of_utilization_on(
    used: float, floor: float | None, stays: bool
) -> None:
    limit = {} if floor is None else {"premium_min_efficiency": floor}
    answer = _answer([_chip("plain", 0.9), _premium("premium", used, **limit)])
    assert preferred(answer) == (["plain", "premium"] if stays else ["plain"])
    assert excluded(answer) == ([] if stays else [("premium", "premium_underused")])


def test_predicted_utilization_decides_where_relative_efficiency_says_otherwise() -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("idle", used=0.1, peak=100),
    ]
    assert preferred(_answer(types)) == ["busy", "plain"]


@pytest.mark.parametrize("peak", [None, 100.0])
def test_it_decides_where_there_is_nothing_to_compare_with(peak: float | None) -> None:
    types = [_premium("busy", 0.9, peak), _premium("idle", 0.1, peak)]
    answer = _answer(types)
    assert (preferred(answer), answer["reason"]) == (["busy"], None)
    assert excluded(answer) == [("idle", "premium_underused")]


def test_it_decides_where_peaks_are_unknown() -> None:
    types = [_chip("plain", 0.9, None), _premium("busy", 0.9), _premium("idle", 0.1)]
    assert preferred(_answer(types)) == ["busy", "plain"]


def test_where_every_candidate_is_underused_all_are_excluded() -> None:
    answer = _answer([_premium("one", 0.1), _premium("two", 0.2)], candidates=["two", "one", "x"])
    assert (answer["preference"], answer["reason"]) == ([], "all_excluded")
    assert excluded(answer) == [
        ("x", "unknown_hardware"),
        ("two", "premium_underused"),
        ("one", "premium_underused"),
    ]
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}


def test_a_type_that_is_not_premium_stays_whatever_its_utilization() -> None:
    types = [_chip("plain", 1e-6), _chip("other", 0.1), _premium("premium", 0.9)]
    answer = _answer(types)
    assert preferred(answer) == ["other", "plain", "premium"]
    assert excluded(answer) == []


def test_each_id_of_a_premium_type_is_judged_by_its_own_prediction() -> None:
    types = [_premium("premium", None)]
    candidates = [
        {"hardware_type": "premium", "id": "spot", "allocation": {"used": 0.8}},
        {"hardware_type": "premium", "id": "on-demand", "allocation": {"used": 0.2}},
    ]
    answer = _answer(types, _utilization(types, "allocation.used"), candidates)
    assert preferred(answer) == ["spot"]
    assert excluded(answer) == [("on-demand", "premium_underused")]


def test_entries_carry_their_utilization_which_is_never_above_one() -> None:
    types = [_chip("a", 0.25), _premium("b", 0.75), _chip("c", 7.0)]
    entries = _entries(_answer(types))
    assert [entries[name]["utilization"] for name in "abc"] == pytest.approx([0.25, 0.75, 1.0])
    assert all(0 <= entry["utilization"] <= 1 for entry in entries.values())


def test_the_answer_names_both_versions_and_throughput_s_is_the_model_version() -> None:
    answer = _answer([_chip("plain", 0.9)])
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}
    assert answer["model_version"] == "t7"


def test_order_is_by_throughput_alone() -> None:
    types = [{**_chip("slow", 1.0), "rate": 1.0}, {**_chip("fast", 0.1), "rate": 2.0}]
    assert preferred(_answer(types)) == ["fast", "slow"]


def test_with_the_filter_off_underused_types_are_ranked_with_their_utilization() -> None:
    types = [_chip("plain", 0.9), _premium("idle", 0.1, 400)]
    answer = _answer(types, premium_filter=False)
    assert (preferred(answer), excluded(answer)) == (["idle", "plain"], [])
    assert _entries(answer)["idle"]["utilization"] == pytest.approx(0.1)


@pytest.mark.parametrize(("rows", "kept"), [(49, ["efficient"]), (50, ["busy"])])
def test_a_type_with_too_few_rows_of_utilization_is_judged_by_relative_efficiency(
    rows: int, kept: list[str]
) -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("efficient", used=0.1, peak=100),
    ]
    known = {"plain": 50, "busy": rows, "efficient": rows}
    entries = _entries(_answer(types, _utilization(types, rows=known)))
    assert sorted({*entries} - {"plain"}) == kept
    assert {name for name, entry in entries.items() if "utilization" in entry} == (
        {"plain"} if rows < 50 else {"plain", *kept}
    )


def test_the_least_rows_of_utilization_are_its_own_model_s() -> None:
    types = [_chip("plain", 0.9), _premium("idle", 0.1)]
    few = {"plain": 9, "idle": 9}
    answer = _answer(types, _utilization(types, rows=few, min_hardware_rows=9))
    assert excluded(answer) == [("idle", "premium_underused")]


def test_a_type_that_throughput_was_not_trained_on_is_judged_by_utilization_all_the_same() -> None:
    types = [_premium("busy", 0.9), _premium("idle", 0.1)]
    throughput = hand_made(types, rows={"elsewhere": 50})
    answer = _answer(types, throughput=throughput, allow_untrained=True)
    assert preferred(answer) == ["busy"]
    assert _entries(answer)["busy"]["extrapolated"]


@pytest.mark.parametrize(("config", "kept"), [({}, "efficient"), ({"depth": 3}, "busy")])
def test_a_request_without_what_utilization_needs_is_judged_by_relative_efficiency(
    config: dict[str, Any], kept: str
) -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("efficient", used=0.1, peak=100),
    ]
    utilization = _utilization(types, required=("config.depth",))
    answer = _answer(types, utilization, job=job(config=config))
    assert preferred(answer) == sorted([kept, "plain"])
    assert answer["reason"] is None
    assert all(("utilization" in entry) is bool(config) for entry in answer["preference"])
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}


def test_a_type_whose_utilization_cannot_be_predicted_is_judged_by_relative_efficiency() -> None:
    types = [_chip("plain", 0.9), _premium("good", None), _premium("poor", None, peak=400)]
    answer = _answer(types)
    assert preferred(answer) == ["good", "plain"]
    assert "utilization" not in _entries(answer)["good"]


@pytest.mark.parametrize("known_to", ["throughput", "utilization"])
def test_each_model_reads_a_history_of_its_own(known_to: str) -> None:
    types = [_chip("plain", 0.9)]
    runs = snapshot_of({"mine": [(0, 5.0), (1, 5.0)]})
    own = {"snapshot": runs, "offset": 0.25}
    other = {"offset": 0.25}
    for_throughput, for_utilization = (own, other) if known_to == "throughput" else (other, own)
    answer = _answer(
        types,
        _utilization(types, "history.runs", **for_utilization),
        throughput=hand_made(types, "history.runs", **for_throughput),
        job=job(job_family="mine"),
    )
    entry = _entries(answer)["plain"]
    seen = entry["throughput"], entry["utilization"]
    assert seen == pytest.approx((2.25, 0.25) if known_to == "throughput" else (0.25, 1.0))
    assert answer["cold_start"] is (known_to == "utilization")
