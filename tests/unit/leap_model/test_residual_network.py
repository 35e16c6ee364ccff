"""The network that serves: what it says is its definition, and nothing malformed becomes one."""

from typing import Any

import numpy as np
import pytest

from leap_model import network as module
from leap_model.columns import Floats
from leap_model.network import FARTHEST, Network, Shape, on_scale, silu
from tests.unit.leap_model.residual import COLUMNS, SHAPE, network_of, rows_of, said_of

NETWORK = network_of()
ROWS = rows_of(200)
BARE = Shape(numbers=(0,), gaps=(), categories=(), width=3, blocks=1, vector=2)
NAMES_ONLY = Shape(numbers=(), gaps=(), categories=((1, 3),), width=3, blocks=1, vector=2)


def without(row: Floats, column: int, value: float) -> Floats:
    """One row with another value in a column."""
    other = row.copy()
    other[column] = value
    return other.reshape(1, -1)


@pytest.mark.parametrize("shape", [SHAPE, BARE, NAMES_ONLY], ids=["all", "numbers", "categories"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_what_the_definition_says(shape: Shape, seed: int) -> None:
    network = network_of(shape, seed)
    expected = [said_of(network, row) for row in ROWS.tolist()]
    assert np.ptp(expected) > 0.2
    np.testing.assert_allclose(network.score(ROWS)[:, 0], expected, atol=2e-5)


def test_a_row_alone_is_what_it_is_among_others() -> None:
    alone = [NETWORK.score(row.reshape(1, -1))[0, 0] for row in ROWS]
    np.testing.assert_allclose(alone, NETWORK.score(ROWS)[:, 0], atol=1e-5)


@pytest.mark.parametrize("most", [1, 60, 100, 199])
def test_many_rows_are_read_a_part_at_a_time(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NETWORK.score(ROWS)
    monkeypatch.setattr(module, "MOST_ROWS", most)
    parts = NETWORK.score(ROWS)
    assert parts.shape == whole.shape
    np.testing.assert_allclose(parts, whole, atol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_the_matrix_in_memory_does_not_matter(order: Any) -> None:
    np.testing.assert_allclose(NETWORK.score(np.asarray(ROWS, order=order)), NETWORK.score(ROWS))


def test_the_score_is_one_column_and_of_no_row_none() -> None:
    assert NETWORK.score(ROWS).shape == (200, 1)
    assert NETWORK.score(ROWS).dtype == np.float64
    assert NETWORK.score(np.empty((0, COLUMNS))).shape == (0, 1)


@pytest.mark.parametrize("column", [3, 6])
def test_columns_that_it_does_not_read_say_nothing(column: int) -> None:
    changed = ROWS.copy()
    changed[:, column] = np.inf
    assert NETWORK.score(changed).tobytes() == NETWORK.score(ROWS).tobytes()


@pytest.mark.parametrize("code", [np.nan, -1.0, 3.0, 4096.0, -np.inf, np.inf])
def test_missing_and_unknown_codes_are_the_hidden_category(code: float) -> None:
    known = dict(NETWORK.parameters)
    row = np.nan_to_num(ROWS[0])
    expected = said_of(NETWORK, without(row, 1, np.nan)[0].tolist())
    assert NETWORK.score(without(row, 1, code))[0, 0] == pytest.approx(expected, abs=1e-5)
    known["vectors"] = known["vectors"].copy()
    known["vectors"][0] += 1.0
    moved = Network(SHAPE, known)
    assert moved.score(without(row, 1, code)) != NETWORK.score(without(row, 1, code))
    assert moved.score(without(row, 1, 0.0)) == NETWORK.score(without(row, 1, 0.0))


def test_each_code_of_each_column_has_a_vector_of_its_own() -> None:
    codes = np.array([[first, second] for first in (np.nan, 0, 1, 2) for second in (np.nan, 0, 1)])
    matrix = np.zeros((len(codes), COLUMNS))
    matrix[:, [1, 4]] = codes
    places = NETWORK.places(matrix)
    assert places[:, 0].tolist() == [at for at in range(4) for _ in range(3)]
    assert places[:, 1].tolist() == [4, 5, 6] * 4
    assert len(np.unique(NETWORK.score(matrix))) == 12


@pytest.mark.parametrize("far", [1e6, 1e30, 1e300, np.inf])
@pytest.mark.parametrize(("at", "column"), [(0, 0), (2, 5)])
def test_far_numbers_are_as_those_at_the_farthest(at: int, column: int, far: float) -> None:
    knee, center, spread = (float(NETWORK.parameters[n][at]) for n in ("knee", "center", "spread"))
    row = np.zeros(COLUMNS)
    for sign in (-1.0, 1.0):
        edge = center + sign * FARTHEST * spread
        value = edge if knee == 0 else knee * np.sinh(edge)
        expected = NETWORK.score(without(row, column, value))[0, 0]
        found = NETWORK.score(without(row, column, sign * far))[0, 0]
        assert found == pytest.approx(expected, abs=1e-5)
        inside = NETWORK.score(without(row, column, value * 0.8))[0, 0]
        assert abs(inside - expected) > 1e-4


def test_a_missing_number_is_the_mean_one_but_for_its_gap() -> None:
    numbers, gaps = NETWORK.numbers(np.full((1, COLUMNS), np.nan))
    assert (numbers.tolist(), gaps.tolist()) == ([[0.0, 0.0, 0.0]], [[1.0]])
    assert numbers.dtype == gaps.dtype == np.dtype(np.float32)
    numbers, gaps = NETWORK.numbers(np.zeros((1, COLUMNS)))
    assert gaps.tolist() == [[0.0]]
    assert 0.0 not in numbers.tolist()[0]


# The scale of numbers.


@pytest.mark.parametrize("knee", [0.0, 1e-20, 0.5, 1e20])
def test_the_scale_is_odd_and_monotone(knee: float) -> None:
    values = np.sort(np.concatenate([np.geomspace(1e-25, 1e280, 400), np.linspace(0, 10, 50)]))
    values = np.concatenate([-values[::-1], values]).reshape(-1, 1)
    bent = on_scale(values, np.array([knee], np.float32))
    np.testing.assert_array_equal(bent, -bent[::-1])
    assert np.all(np.diff(bent[:, 0]) >= 0)
    assert np.all(np.isfinite(bent))


def test_the_scale_is_logarithmic_far_away_and_straight_near_nothing() -> None:
    knee = np.array([2.0], np.float32)
    far = np.array([[2e3], [2e4], [2e7]])
    bent = on_scale(far, knee)[:, 0]
    np.testing.assert_allclose(bent, np.log(far[:, 0]), atol=1e-6)  # asinh(x ÷ 2) → log x
    near = np.array([[0.0], [1e-3], [-2e-3]])
    np.testing.assert_allclose(on_scale(near, knee), near / 2, rtol=1e-6)


def test_without_a_knee_a_number_is_itself_and_each_column_has_its_own() -> None:
    values = np.array([[5.0, 5.0], [-7.0, np.nan]])
    bent = on_scale(values, np.array([0.0, 1.0], np.float32))
    assert bent[:, 0].tolist() == [5.0, -7.0]
    assert bent[0, 1] == np.arcsinh(5.0)
    assert np.isnan(bent[1, 1])


def test_silu_does_not_overflow() -> None:
    values = np.array([-np.inf, -1e30, -100.0, 0.0, 100.0, 1e30], np.float32)
    with np.errstate(invalid="ignore"):  # −∞ × 0
        bent = silu(values)
    assert bent[1:].tolist() == [0.0, 0.0, 0.0, 100.0, np.float32(1e30)]


# From and to an array.


@pytest.mark.parametrize("shape", [SHAPE, BARE, NAMES_ONLY], ids=["all", "numbers", "categories"])
def test_a_network_survives_being_an_array(shape: Shape) -> None:
    network = network_of(shape)
    values = network.to_array()
    again = Network.of_array(Shape.from_json(shape.to_json()), values)
    assert again.shape == shape
    assert again.to_array().tobytes() == values.tobytes()
    assert again.score(ROWS).tobytes() == network.score(ROWS).tobytes()
    assert list(again.parameters) == list(shape.layout())
    assert len(values) == sum(int(np.prod(size)) for size in shape.layout().values())


def test_the_layout_says_how_large_everything_is() -> None:
    layout = SHAPE.layout()
    assert (SHAPE.inputs, SHAPE.rows) == (3 + 1 + 2 * 3, (3 + 1) + (2 + 1))
    assert list(layout)[:4] == ["knee", "center", "spread", "vectors"]
    assert layout["vectors"] == (7, 3)
    assert layout["input.weight"] == (10, 6)
    assert layout["1.second.weight"] == (6, 6)
    assert layout["direct.weight"] == (10,)
    assert "2.gain" not in layout


def start_of(name: str) -> int:
    """Where an array begins among all parameters."""
    start = 0
    for other, size in SHAPE.layout().items():
        if other == name:
            return start
        start += int(np.prod(size))
    raise KeyError(name)


def altered(name: str, value: float) -> Any:
    values = NETWORK.to_array()
    values[start_of(name)] = value
    return values


WHOLE = NETWORK.to_array()
REFUSED = {
    "one too few": WHOLE[:-1],
    "one too many": np.append(WHOLE, np.float32(0)),
    "none": WHOLE[:0],
    "64 bits": WHOLE.astype(np.float64),
    "16 bits": WHOLE.astype(np.float16),
    "the other byte order": WHOLE.astype(">f4"),
    "integers": WHOLE.astype(np.int32),
    "a column": WHOLE.reshape(-1, 1),
    "a row": WHOLE.reshape(1, -1),
    "no spread": altered("spread", 0.0),
    "a negative spread": altered("spread", -1.0),
    "a negative knee": altered("knee", -0.5),
    **{
        f"{value} in {name}": altered(name, value)
        for name in SHAPE.layout()
        for value in (np.nan, np.inf, -np.inf)
    },
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_parameters_that_do_not_fit_are_refused(values: Any) -> None:
    with pytest.raises(ValueError, match=r"network's|reshape"):
        Network.of_array(SHAPE, values)


MALFORMED: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({name: None}, TypeError) for name in SHAPE.to_json()),
    *(({name: 0}, ValueError) for name in ("width", "blocks", "vector")),
    *(({name: -1}, ValueError) for name in ("width", "blocks", "vector")),
    *(({name: "wide"}, ValueError) for name in ("width", "blocks", "vector")),
    *(({name: ["many"]}, ValueError) for name in ("numbers", "gaps")),
    *(({name: [None]}, TypeError) for name in ("numbers", "gaps")),
    *(({"gaps": [at]}, ValueError) for at in (-1, 3, 5)),
    ({"categories": [[1, 0]]}, ValueError),
    ({"categories": [[1, -3]]}, ValueError),
    ({"categories": [[1]]}, ValueError),
    ({"categories": [[1, 2, 3]]}, ValueError),
    ({"categories": [1]}, TypeError),
    ({"numbers": []}, ValueError),
]


@pytest.mark.parametrize(("change", "fault"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_shape_is_refused(change: dict[str, Any], fault: type[Exception]) -> None:
    assert Shape.from_json(SHAPE.to_json()) == SHAPE
    with pytest.raises(fault):
        Shape.from_json(SHAPE.to_json() | change)


@pytest.mark.parametrize("name", SHAPE.to_json())
def test_a_shape_that_lacks_a_part_is_refused(name: str) -> None:
    document = SHAPE.to_json()
    del document[name]
    with pytest.raises(KeyError):
        Shape.from_json(document)
