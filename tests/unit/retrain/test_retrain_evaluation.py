"""Figures by hand: shares within bands, medians, weights, and what is null."""

from datetime import date
from typing import Any

import numpy as np
import pytest

from functions.retrain.comparators import COMPARATORS, family_medians
from functions.retrain.evaluation import by_decade, by_model_rank, evaluate, figures
from leap_model.columns import Labels
from leap_model.history import Outcomes, family_hashes
from leap_model.store import LocalStore
from tests.support import attempt, filled
from tests.unit.retrain.nights import rows_between


def _figures(ratios: list[float]) -> dict[str, float | None]:
    measured = np.full(len(ratios), 100.0)
    return figures(measured, measured * np.array(ratios))


def test_bands_hold_what_lies_within_them() -> None:
    result = _figures([1.0, 1.04, 0.92, 1.14, 0.81, 1.3, 0.5, 3.0])
    assert result == pytest.approx(
        {
            "w5": 2 / 8,
            "w10": 3 / 8,
            "w15": 4 / 8,
            "w20": 5 / 8,
            "mdape": (0.14 + 0.19) / 2,
            "ratio": (1.0 + 1.04) / 2,
        }
    )


def test_the_error_is_relative_to_what_was_measured() -> None:
    over = figures(np.array([100.0]), np.array([125.0]))
    under = figures(np.array([125.0]), np.array([100.0]))
    assert (over["mdape"], over["ratio"]) == (0.25, 1.25)
    assert under["mdape"] == pytest.approx(0.2)
    assert under["ratio"] == 0.8


def test_medians_are_not_moved_by_one_absurd_prediction() -> None:
    assert _figures([1.0, 1.1, 1e30])["mdape"] == pytest.approx(0.1)


def test_of_nothing_every_figure_is_null() -> None:
    assert set(_figures([]).values()) == {None}


def _evaluated(
    store: LocalStore, attempts: list[dict[str, Any]], ratios: list[float], cold: list[bool]
) -> dict[str, Any]:
    named = [{**a, "attempt_id": f"a-{at}"} for at, a in enumerate(attempts)]
    filled(store.root, named)
    rows = rows_between(store, date(2026, 1, 1), date(2026, 2, 1)).usable()
    return evaluate(rows, rows.measured * np.array(ratios), np.array(cold, bool))


def test_shares_by_part_and_by_accelerator_hours(store: LocalStore) -> None:
    hour = {"duration_s": 3600, "num_trainers": 1, "accelerators_per_host": 1}
    attempts = [
        attempt(**{**hour, "accelerators_per_host": 6}),
        attempt(**{**hour, "hardware_type": "FAST", "model_type": "bert"}),
        attempt(**{**hour, "hardware_type": "slow-4", "duration_s": 10_800}),
        attempt(hardware_type="slow-4", model_type="bert", duration_s=None),
    ]
    result = _evaluated(store, attempts, [1.0, 2.0, 1.1, 0.5], [True, False, False, False])
    assert result["attempts"] == 4
    assert result["w20"] == 0.5
    assert result["w20_by_gpu_hours"] == pytest.approx((6 + 3) / (6 + 1 + 3))
    assert result["cold"] == {"attempts": 1, "w20": 1.0}
    assert result["by_hardware"] == {
        "fast-8": {"attempts": 2, "w20": 0.5},
        "slow-4": {"attempts": 2, "w20": 0.5},
    }
    assert result["by_model_type"] == {
        "bert": {"attempts": 2, "w20": 0.0},
        "resnet": {"attempts": 2, "w20": 1.0},
    }


def test_without_durations_the_weighted_share_is_null(store: LocalStore) -> None:
    result = _evaluated(store, [attempt()], [1.0], [False])
    assert result["w20_by_gpu_hours"] is None
    assert result["cold"] == {"attempts": 0, "w20": None}


DAY = 86_400_000_000
RUNS = [("a", 1, 10.0), ("a", 2, 30.0), ("a", 3, 20.0), ("b", 1, 5.0), ("c", 9, 7.0)]


def _outcomes() -> Outcomes:
    names, days, rates = zip(*reversed(RUNS), strict=True)
    return Outcomes(
        family_hashes(Labels.of(names)), np.array(days, np.int64) * DAY, np.log(np.array(rates))
    )


@pytest.mark.parametrize(
    ("family", "before", "median"),
    [
        ("a", 1, None),
        ("a", 2, 10.0),
        ("a", 3, 20.0),
        ("a", 4, 20.0),
        ("a", 99, 20.0),
        ("b", 1, None),
        ("b", 2, 5.0),
        ("c", 9, None),
        ("c", 10, 7.0),
        ("never", 99, None),
    ],
)
def test_the_family_median_is_of_what_completed_before(
    family: str, before: int, median: float | None
) -> None:
    hashes = family_hashes(Labels.of([family]))
    result = family_medians(_outcomes(), hashes, np.array([before * DAY], np.int64))
    assert result.tolist() == pytest.approx([np.nan if median is None else median], nan_ok=True)


def test_family_medians_of_many_jobs_keep_their_order() -> None:
    hashes = family_hashes(Labels.of(["c", "a", "b", "a", "never"]))
    before = np.array([10, 2, 2, 99, 99], np.int64) * DAY
    result = family_medians(_outcomes(), hashes, before)
    assert result.tolist() == pytest.approx([7, 10, 5, 20, np.nan], nan_ok=True)


def test_family_medians_of_no_jobs_or_no_outcomes() -> None:
    nobody, never = family_hashes(Labels.of([])), np.zeros(0, np.int64)
    assert family_medians(_outcomes(), nobody, never).tolist() == []
    nothing = Outcomes(nobody, never, np.zeros(0))
    hashes = family_hashes(Labels.of(["a"]))
    assert np.isnan(family_medians(nothing, hashes, np.array([DAY])))


def test_the_comparators_are_the_documented_ones() -> None:
    assert set(COMPARATORS) == {
        *("network", "single", "plain", "cascade", "cascade-published", "without-history"),
        *("plain-job", "plain-history", "plain-ratios", "plain-deep"),
        *("family-median", "family-median-else-model", "lookup-table"),
    }


def test_shares_by_decade_and_by_rank_of_the_model_type() -> None:
    measured = np.array([0.5, 1.0, 9.99, 10.0, 1_000.0, 1_234.0, 9_999.0])
    within = np.array([True, True, False, True, True, False, True])
    assert by_decade(measured, within) == {
        "1e-1": {"attempts": 1, "w20": 1.0},
        "1e0": {"attempts": 2, "w20": 0.5},
        "1e1": {"attempts": 1, "w20": 1.0},
        "1e3": {"attempts": 3, "w20": pytest.approx(2 / 3)},
    }
    assert by_decade(np.zeros(0), np.zeros(0, bool)) == {}


def test_model_types_are_ranked_by_their_attempts_then_by_name() -> None:
    # 120 types: m000 has 121 attempts, m001 120, and so on; m118 and m119 have as many.
    counts = [121 - at for at in range(119)] + [3]
    names = [f"m{at:03}" for at, count in enumerate(counts) for _ in range(count)]
    labels = Labels.of(reversed(names))
    rank = {f"m{at:03}": at for at in range(120)}
    hits = np.array([rank[labels.values[code]] in (18, 99, 100) for code in labels.codes])
    result = by_model_rank(labels, hits)
    parts = {"1-19": counts[:19], "20-100": counts[19:100], "101-": counts[100:]}
    for name, of in parts.items():
        assert result[name]["attempts"] == sum(of)
    assert result["1-19"]["w20"] == pytest.approx(counts[18] / sum(counts[:19]))
    assert result["20-100"]["w20"] == pytest.approx(counts[99] / sum(counts[19:100]))
    assert result["101-"]["w20"] == pytest.approx(counts[100] / sum(counts[100:]))
    few = by_model_rank(Labels.of(["a", "b"]), np.array([True, False]))
    assert few["1-19"] == {"attempts": 2, "w20": 0.5}
    assert few["20-100"] == few["101-"] == {"attempts": 0, "w20": None}
