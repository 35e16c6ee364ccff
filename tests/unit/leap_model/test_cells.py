"""CSV cells: what their text says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.cells import value_of_cell
from leap_model.fields import Scalar


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        *[("64", 64), (" 64 ", 64), ("-3", -3), ("+5", 5), ("-0", 0), ("007", 7)],
        *[("64.0", 64.0), ("64.5", 64.5), ("1.", 1.0), (".5", 0.5), ("1e5", 1e5)],
        *[("-2.5E-3", -0.0025), ("9" * 18, 10**18 - 1)],
        *[("9" * 19, 1e19), ("1e999", math.inf), ("inf", math.inf), ("-Infinity", -math.inf)],
        *[("true", True), ("FALSE", False), (" True ", True)],
        *[("", None), ("   ", None), ("\t", None)],
    ],
)  # fmt: skip
def test_a_cell_becomes_what_it_says(cell: str, value: Scalar) -> None:
    read = value_of_cell(cell)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("cell", ["nan", "NaN", " NAN "])
def test_nan_is_read_so_that_its_field_may_decide(cell: str) -> None:
    read = value_of_cell(cell)
    assert isinstance(read, float)
    assert math.isnan(read)


@pytest.mark.parametrize(
    "cell",
    [
        *("2024_01", "1_000", "1,000", "0x10", "1e", "e5", ".", "-", "1.2.3", "5 6", "$32.77"),
        *("-nan", "infinite", "in f", "２", "٣", "½", "bf16", "yes", "null", "none", "[]", "{}"),  # noqa: RUF001
        *("2026-01-02T09:00:00Z", "us-east-1a"),
    ],
)
def test_what_is_no_number_stays_text(cell: str) -> None:
    assert value_of_cell(f" {cell}\n") == cell


@given(st.text())
def test_any_text_is_read(cell: str) -> None:
    read = value_of_cell(cell)
    assert read is None or isinstance(read, (bool, int, float)) or read == cell.strip()


@given(st.integers(-(10**17), 10**17) | st.floats(allow_nan=False))
def test_numbers_survive_being_written(number: float) -> None:
    assert value_of_cell(str(number)) == number
