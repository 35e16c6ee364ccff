"""Premium types stay only where the job is predicted to use them."""

from typing import Any

import pytest

from leap_model.ranking import rank_with
from leap_model.request import parse_request
from leap_model.source import Serving, Versioned
from leap_model.switches import EVERYONE
from tests.support import checked, excluded, preferred
from tests.unit.ranking.hand_made import answer_to, hand_made, hardware, job


def _chip(name: str, peak: float | None = 100.0, **values: Any) -> dict[str, Any]:
    more = {} if peak is None else {"peak_fp16_tflops": peak}
    return hardware(name, 1.0, accelerators_per_host=1, **more, **values)


def _ids(*types: dict[str, Any], candidates: Any = None, **values: Any) -> list[str]:
    asked = candidates or [entry["hardware_type"] for entry in types]
    return preferred(checked(answer_to(hand_made(types), asked, **values)))


@pytest.mark.parametrize(
    ("peak", "floor", "stays"),
    [
        (200.0, None, True),  # half as efficient: exactly the default
        (200.1, None, False),
        (400.0, None, False),
        (400.0, 0.25, True),
        (400.0, 0.26, False),
        (1e9, 0.0, True),
        (100.0, 1.0, True),
        (100.1, 1.0, False),
        (50.0, 2.0, True),  # used better than the other
    ],
)
def test_a_premium_type_stays_from_its_floor_on(
    peak: float, floor: float | None, stays: bool
) -> None:
    limit = {} if floor is None else {"premium_min_efficiency": floor}
    premium = _chip("premium", peak, premium=True, **limit)
    assert ("premium" in _ids(_chip("plain"), premium)) is stays


def test_an_underused_type_is_excluded_with_its_reason() -> None:
    types = [_chip("plain"), _chip("premium", 400, premium=True)]
    answer = checked(answer_to(hand_made(types), ["premium", "plain"]))
    assert excluded(answer) == [("premium", "premium_underused")]
    assert answer["reason"] is None


def test_with_nothing_to_compare_with_premium_types_stay() -> None:
    types = [_chip("one", 400, premium=True), _chip("two", 100, premium=True)]
    assert _ids(*types) == ["one", "two"]


def test_a_plain_type_without_a_cost_is_nothing_to_compare_with() -> None:
    plain = _chip("plain", cost_per_hour=None)
    assert _ids(plain, _chip("premium", 400, premium=True)) == ["premium"]


@pytest.mark.parametrize(("plain", "premium"), [(None, 400.0), (100.0, None), (None, None)])
def test_with_a_peak_unknown_premium_types_stay(plain: float | None, premium: float | None) -> None:
    types = [_chip("plain", plain), _chip("premium", premium, premium=True)]
    assert _ids(*types) == ["plain", "premium"]


@pytest.mark.parametrize("peak", [0.0])
def test_a_peak_of_zero_is_unknown(peak: float) -> None:
    assert _ids(_chip("plain", peak), _chip("premium", 400, premium=True)) == ["plain", "premium"]


def test_accelerators_per_host_unknown_leaves_the_peak_unknown() -> None:
    premium = hardware("premium", 1.0, peak_fp16_tflops=400, premium=True)
    assert _ids(_chip("plain"), premium) == ["plain", "premium"]


@pytest.mark.parametrize(("per_host", "stays"), [(2, True), (3, False)])
def test_the_peak_counts_accelerators(per_host: int, stays: bool) -> None:
    candidates = ["plain", {"hardware_type": "premium", "accelerators_per_host": per_host}]
    ids = _ids(_chip("plain"), _chip("premium", premium=True), candidates=candidates)
    assert ("premium" in ids) is stays


@pytest.mark.parametrize(("hosts", "stays"), [(2, True), (3, False)])
def test_the_peak_counts_hosts(hosts: int, stays: bool) -> None:
    candidates = ["plain", {"hardware_type": "premium", "num_trainers": hosts}]
    ids = _ids(_chip("plain"), _chip("premium", premium=True), candidates=candidates)
    assert ("premium" in ids) is stays


def test_the_job_s_own_accelerators_count() -> None:
    types = [_chip("plain"), _chip("premium", 200, premium=True)]
    assert "premium" in _ids(*types, job=job(accelerators_per_host=4))


def test_the_comparison_is_with_the_best_plain_type_per_dollar() -> None:
    weak = _chip("weak", 1000, cost_per_hour=2.0)
    best = _chip("best", 100)
    assert "premium" not in _ids(weak, best, _chip("premium", 400, premium=True))
    best = _chip("best", 100, cost_per_hour=4.0)
    assert "premium" in _ids(weak, best, _chip("premium", 400, premium=True))


def test_a_plain_type_is_never_underused() -> None:
    assert _ids(_chip("a", 100), _chip("b", 1e6)) == ["a", "b"]


def test_each_premium_candidate_is_judged_by_itself() -> None:
    candidates = [
        "plain",
        {"hardware_type": "premium", "id": "narrow"},
        {"hardware_type": "premium", "id": "wide", "num_trainers": 4},
    ]
    types = [_chip("plain"), _chip("premium", premium=True)]
    answer = checked(answer_to(hand_made(types), candidates))
    assert preferred(answer) == ["narrow", "plain"]
    assert excluded(answer) == [("wide", "premium_underused")]


def test_with_the_filter_off_an_underused_type_is_ranked_where_it_belongs() -> None:
    types = [_chip("plain", cost_per_hour=2.0), _chip("premium", 1e6, premium=True)]
    serving = Serving(Versioned("v1", hand_made(types)), None, EVERYONE)
    asked = parse_request({"job": job(), "candidates": ["plain", "premium"]})
    filtered = checked(rank_with(serving, asked))
    assert (preferred(filtered), excluded(filtered)) == (
        ["plain"],
        [("premium", "premium_underused")],
    )
    everyone = checked(rank_with(serving, asked, premium_filter=False))
    assert (preferred(everyone), excluded(everyone)) == (["premium", "plain"], [])
    assert everyone["preference"][1] == filtered["preference"][0]


@pytest.mark.parametrize(("weak", "best", "stays"), [("a", "b", True), ("b", "a", False)])
def test_of_plain_types_with_equal_work_per_dollar_the_first_by_id_is_compared_with(
    weak: str, best: str, stays: bool
) -> None:
    types = [_chip("weak", 1000), _chip("best", 100), _chip("premium", 400, premium=True)]
    plain = [{"hardware_type": "weak", "id": weak}, {"hardware_type": "best", "id": best}]
    for candidates in (plain, plain[::-1]):
        assert ("premium" in _ids(*types, candidates=[*candidates, "premium"])) is stays


def test_no_comparison_is_with_a_premium_type_however_good() -> None:
    good = _chip("good", 10, premium=True, cost_per_hour=0.01)
    assert _ids(_chip("plain"), good, _chip("premium", 200, premium=True)) == [
        *("good", "plain", "premium")
    ]


@pytest.mark.parametrize(("spot_cost", "stays"), [(0.1, True), (0.3, False)])
def test_the_comparison_is_with_the_best_id_of_a_plain_type_and_its_own_hosts(
    spot_cost: float, stays: bool
) -> None:
    spot = {"hardware_type": "plain", "id": "s", "num_trainers": 4, "cost_per_hour": spot_cost}
    types = [_chip("plain"), _chip("premium", 400, premium=True)]
    ids = _ids(*types, candidates=["plain", spot, "premium"])
    assert ("premium" in ids) is stays


def test_the_peak_of_the_compared_type_counts_its_own_accelerators() -> None:
    wide = {"hardware_type": "plain", "accelerators_per_host": 8}
    types = [_chip("plain"), _chip("premium", 1600, premium=True)]
    assert "premium" in _ids(*types, candidates=[wide, "premium"])
    assert "premium" not in _ids(*types)


def test_a_lower_price_makes_no_premium_type_better_used() -> None:
    candidates = [
        "plain",
        {"hardware_type": "premium", "id": "on-demand", "cost_per_hour": 5.0},
        {"hardware_type": "premium", "id": "spot", "cost_per_hour": 0.01},
        {"hardware_type": "premium", "id": "half", "accelerators_per_host": 0.5},
    ]
    types = [_chip("plain"), _chip("premium", 400, premium=True)]
    answer = checked(answer_to(hand_made(types), candidates))
    assert preferred(answer) == ["half", "plain"]
    assert excluded(answer) == [
        *(("on-demand", "premium_underused"), ("spot", "premium_underused"))
    ]


def test_a_plain_type_that_may_not_be_ranked_is_nothing_to_compare_with() -> None:
    types = [_chip("plain"), _chip("premium", 400, premium=True)]
    artifact = hand_made(types, rows={"plain": 49, "premium": 50})
    answer = checked(answer_to(artifact, ["plain", "premium"]))
    assert preferred(answer) == ["premium"]
    answer = checked(answer_to(artifact, ["plain", "premium"], allow_untrained=True))
    assert preferred(answer) == ["plain"]


def test_a_floor_of_a_type_that_is_not_premium_means_nothing() -> None:
    plain = _chip("plain", 1e6, premium=False, premium_min_efficiency=1.0)
    assert _ids(plain, _chip("other", 100)) == ["other", "plain"]
