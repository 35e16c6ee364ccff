"""Premium types stay only where the job is predicted to use them."""

from typing import Any

import pytest

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
