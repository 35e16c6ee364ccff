"""Paired differences: means and Student's t intervals against published quantiles."""

import pytest

from functions.retrain.differences import paired


def test_the_interval_is_students_t() -> None:
    # Mean 0.03, standard deviation 0.02, t(0.975, 4 degrees) = 2.776445.
    result = paired([0.01, 0.03, 0.03, 0.02, 0.06])
    half = 2.776445 * 0.018708287 / 5**0.5
    assert result["nights"] == 5
    assert result["mean"] == pytest.approx(0.03)
    assert (result["low"], result["high"]) == pytest.approx((0.03 - half, 0.03 + half), rel=1e-6)


def test_two_nights_leave_much_open() -> None:
    result = paired([0.1, 0.2])
    assert result["high"] - result["mean"] == pytest.approx(12.7062 * 0.0707107 / 2**0.5, rel=1e-4)


def test_equal_differences_have_no_width() -> None:
    assert paired([0.25, 0.25, 0.25]) == {"nights": 3, "mean": 0.25, "low": 0.25, "high": 0.25}


def test_of_one_night_or_none_the_interval_is_null() -> None:
    assert paired([0.1]) == {"nights": 1, "mean": 0.1, "low": None, "high": None}
    assert paired([]) == {"nights": 0, "mean": None, "low": None, "high": None}
