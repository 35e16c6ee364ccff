"""Axes: values in proportion, round ticks, no more of them than asked for."""

import pytest

from functions.retrain.report.axes import Axis, log_axis, power_of_ten
from functions.retrain.report.drawing import shortened
from functions.retrain.report.figures import amount
from functions.retrain.report.markup import number


def test_even_and_log_axes_lay_values_in_proportion() -> None:
    even, log = Axis(0, 10, 100, 200), Axis(1, 10_000, 100, 200, log=True)
    assert [even.at(value) for value in (0, 5, 10)] == [100, 150, 200]
    assert [log.at(value) for value in (1, 100, 10_000)] == [100, 150, 200]
    assert [even.at(value) for value in (-5, 50)] == [100, 200]
    assert Axis(0, 1, 80, 20).at(0.25) == 65  # upwards


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 10_000, [1, 10, 100, 1_000, 10_000]),
        (0.5, 2.2, [0.5, 1, 2]),
        (3e-9, 4e9, [1e-6, 1e-3, 1, 1e3, 1e6, 1e9]),
    ],
)
def test_log_ticks_are_decades_or_round_within_one(
    low: float, high: float, expected: list[float]
) -> None:
    assert Axis(low, high, 0, 1, log=True).ticks() == pytest.approx(expected)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("low", [1e-9, 0.03, 1.0, 7.7, 1e6])
@pytest.mark.parametrize("ratio", [1.5, 3.0, 10.0, 99.0, 1e5, 1e12, 1e200])
def test_ticks_are_few_ordered_and_within(low: float, ratio: float, log: bool) -> None:
    axis = Axis(low, low * ratio, 0, 1, log=log)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))
    slack = (axis.high - axis.low) * 1e-6 if not log else axis.low * 1e-3
    assert all(axis.low - slack <= tick <= axis.high * 1.001 for tick in ticks)


def test_an_axis_holds_every_value_and_is_never_a_point() -> None:
    assert log_axis([None, 0.0, -1.0], 0, 1) is None
    for values in ([5.0], [1.0, 1e9], [None, 3.0, 3.1]):
        axis = log_axis(values, 0, 1)
        assert axis is not None
        assert axis.high / axis.low >= 2
        assert all(axis.low < value < axis.high for value in values if value)


@pytest.mark.parametrize(
    ("value", "said"),
    [(1, "1"), (0.05, "0.05"), (1_000, "1,000"), (1e4, "10⁴"), (3e-5, "3×10⁻⁵"), (1e12, "10¹²")],
)
def test_ticks_are_said_shortly(value: float, said: str) -> None:
    assert power_of_ten(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((None, "unknown"), (0, "0"), (1, "1.00"), (12.34, "12.3"), (1234.5, "1,234")),
        *((0.01234, "0.0123"), (999.9, "1,000"), (1.5e7, "1.50e7"), (2.5e-7, "2.50e-7")),
    ],
)
def test_amounts_have_three_digits(value: float | None, said: str) -> None:
    assert amount(value) == said


def test_coordinates_are_short() -> None:
    assert [number(value) for value in (1.0, -0.04, 12.349, 100.0)] == ["1", "0", "12.3", "100"]


@pytest.mark.parametrize("name", ["", "a", "p5.48xlarge", "W" * 300, "i" * 300, "型" * 300])
def test_a_long_name_keeps_its_ends(name: str) -> None:
    short = shortened(name, 100)
    if short != name:
        first, _, last = short.partition("…")
        assert name.startswith(first)
        assert name.endswith(last)
        assert abs(len(first) - len(last)) <= 1
        assert 6 <= len(short) <= 20
    assert shortened("p5.48xlarge", 100) == "p5.48xlarge"
