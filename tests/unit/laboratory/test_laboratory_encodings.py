"""Numbers as networks take them, by hand."""

import numpy as np

from bench.laboratory.encodings import PiecewiseLinear, Standard

NAN = np.nan


def test_standard_columns_have_mean_nothing_and_deviation_one() -> None:
    matrix = np.random.default_rng(1).lognormal(3, 2, (200, 3))
    matrix[::7, 1] = NAN
    matrix[:, 2] = 0.0
    encoded = Standard.of(matrix)(matrix)
    assert encoded.shape == (200, 4)
    np.testing.assert_allclose(encoded[:, 0].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(encoded[:, 0].std(), 1, rtol=0.02)
    assert (encoded[::7, 1] == 0).all()
    np.testing.assert_array_equal(encoded[:, 2], 0)
    np.testing.assert_array_equal(encoded[:, 3], np.arange(200) % 7 == 0)


def test_what_lies_far_out_is_held_back() -> None:
    encoding = Standard.of(np.arange(10.0).reshape(-1, 1))
    far = encoding(np.array([[1e300], [-1e300], [NAN]]))
    assert far.tolist() == [[5.0], [-5.0], [0.0]]


def test_a_column_without_a_value_is_nothing() -> None:
    encoded = Standard.of(np.full((3, 1), NAN))(np.array([[NAN], [1.0]]))
    assert np.isfinite(encoded).all()


def test_the_piecewise_linear_encoding_fills_bins_in_order() -> None:
    column = np.array([[0.0], [1.0], [2.0], [4.0], [8.0]])
    encoding = PiecewiseLinear.of(column, 4)
    asked = np.array([[-3.0], [0.5], [3.0], [8.0], [99.0], [NAN]])
    expected = np.zeros((6, 4))
    expected[1, 0] = 0.5
    expected[2] = [1, 1, 0.5, 0]
    expected[3:5] = 1
    np.testing.assert_allclose(encoding(asked), expected)


def test_equal_values_share_a_bin_and_a_constant_has_none() -> None:
    matrix = np.array([[1.0, 7.0, NAN], [1.0, 7.0, NAN], [1.0, 7.0, NAN], [9.0, 7.0, NAN]])
    assert PiecewiseLinear.of(matrix, 4)(matrix).shape == (4, 2)
    assert PiecewiseLinear.of(matrix[:, 1:], 4)(matrix[:, 1:]).shape == (4, 0)
