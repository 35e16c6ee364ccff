"""How a network learns: right gradients, right steps, and the same bits whatever the threads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from functions.retrain.learning import descent
from functions.retrain.learning.descent import Descent, descend, initial
from leap_model.columns import Floats
from leap_model.network import Network, Shape, Singles

SHAPE = Shape(numbers=(0, 1), gaps=(0,), categories=((2, 4),), width=5, blocks=2, vector=3)
ROWS = 12
LAYERS = [n for n in SHAPE.layout() if n not in ("knee", "center", "spread", "vectors")]
CONSTANTS = Descent(
    steps=60, batch=32, rate=0.01, decay=0.0, vector_decay=0.0, dropout=0.0, hidden=(0.0,)
)


def in_64_bits(seed: int = 0) -> tuple[dict[str, Any], Floats, Floats]:
    """Parameters, inputs, and values whose errors are far from where the loss changes its form."""
    draw = np.random.default_rng(seed)
    known = {name: draw.normal(0.0, 0.6, size) for name, size in SHAPE.layout().items()}
    inputs = draw.normal(size=(ROWS, SHAPE.inputs))
    errors = np.resize([0.02, -0.01, 0.6, -1.5], ROWS)
    return known, inputs, said_by(known, inputs) - errors


def loss_of(
    known: dict[str, Any], inputs: Floats, values: Floats, dropout: float = 0.0
) -> tuple[float, dict[str, Any]]:
    """The loss, the same units dropped each time, and its gradients, by the inputs as well."""
    random = np.random.default_rng(0)
    loss, found, of_inputs = descent._gradients(SHAPE, known, inputs, values, dropout, random)
    return loss, {**found, "inputs": of_inputs}


def said_by(known: dict[str, Any], inputs: Floats) -> Floats:
    """(n,) the network's answers, from the loss of one row at a time against a value far below."""
    random = np.random.default_rng(0)
    far = -1e6
    losses = [
        descent._gradients(SHAPE, known, row.reshape(1, -1), np.array([far]), 0.0, random)[0]
        for row in inputs
    ]
    return np.array(losses) + far + float(descent._ROUND) / 2


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("name", [*LAYERS, "inputs"])
def test_gradients_are_central_differences(name: str, dropout: float) -> None:
    known, inputs, values = in_64_bits()
    _, found = loss_of(known, inputs, values, dropout)
    place = inputs if name == "inputs" else known[name]
    flat = place.reshape(-1)
    expected = np.empty(flat.size)
    step = 1e-5
    for at in range(flat.size):
        before = flat[at]
        losses = []
        for moved in (before + step, before - step):
            flat[at] = moved
            losses.append(loss_of(known, inputs, values, dropout)[0])
        flat[at] = before
        expected[at] = (losses[0] - losses[1]) / (2 * step)
    assert found[name].shape == place.shape
    assert np.any(np.abs(expected) > 1e-4)
    np.testing.assert_allclose(found[name].reshape(-1), expected, rtol=1e-5, atol=1e-8)


def test_every_layer_has_a_gradient() -> None:
    known, inputs, values = in_64_bits()
    assert sorted(loss_of(known, inputs, values)[1]) == sorted([*LAYERS, "inputs"])


def test_learning_reads_a_row_as_serving_does() -> None:
    draw = np.random.default_rng(5)
    known = initial(SHAPE, 2.0, draw)
    known["spread"] += np.float32(1)
    network = Network(SHAPE, known)
    matrix = np.column_stack([draw.normal(size=(ROWS, 2)), draw.integers(0, 4, ROWS)])
    vectors = known["vectors"][network.places(matrix)].reshape(ROWS, -1)
    inputs = np.concatenate([*network.numbers(matrix), vectors], axis=1)
    wide = {name: part.astype(np.float64) for name, part in known.items()}
    said = said_by(wide, inputs.astype(np.float64))
    np.testing.assert_allclose(network.score(matrix)[:, 0], said, atol=1e-5)


def test_no_error_pulls_harder_than_any_other() -> None:
    known, inputs, values = in_64_bits()
    pulls = []
    for error in (1.0, 1e3, 1e6):
        _, found = loss_of(known, inputs[:1], values[:1] - error)
        pulls.append(found["direct.weight"])
    np.testing.assert_allclose(pulls[0], pulls[1])
    np.testing.assert_allclose(pulls[0], pulls[2])


def test_dropout_keeps_the_mean_of_what_passes() -> None:
    known, inputs, values = in_64_bits()
    known["0.second.weight"] *= 0  # what is dropped then changes no other gradient
    shape, random = replace(SHAPE, blocks=1), np.random.default_rng(1)

    def of_second(dropout: float) -> Any:
        found = descent._gradients(shape, known, inputs, values, dropout, random)[1]
        return found["0.second.weight"]

    whole, dropped = of_second(0.0), [of_second(0.25) for _ in range(4_000)]
    assert not np.allclose(dropped[0], whole, atol=0.05 * np.abs(whole).max())
    np.testing.assert_allclose(np.mean(dropped, axis=0), whole, atol=0.02 * np.abs(whole).max())


# The rate, and the steps.


@pytest.mark.parametrize("steps", [1, 2, 7, 10, 100, 12_000])
def test_the_rate_rises_to_its_most_and_falls_to_nearly_nothing(steps: int) -> None:
    rates = np.array([descent._rate(step, steps, 0.01) for step in range(steps)])
    assert rates[0] == pytest.approx(0.01 / 25)
    assert np.all((rates > 0) & (rates <= 0.01 * (1 + 1e-12)))
    top = int(np.argmax(rates))
    assert np.all(np.diff(rates[: top + 1]) > 0)
    assert np.all(np.diff(rates[top:]) < 0)
    if steps >= 100:
        assert rates[round(0.15 * steps)] == pytest.approx(0.01)
        assert rates[-1] < 0.01 / 1_000


def gradients_of(seed: int, *shape: int) -> Singles:
    return np.random.default_rng(seed).normal(0.0, 0.1, shape).astype(np.float32)


@pytest.mark.parametrize("decay", [0.0, 0.05])
def test_adam_by_rows_is_adam_where_every_row_is_touched(decay: float) -> None:
    start = gradients_of(0, 6, 3)
    by_row, whole = start.copy(), start.copy()
    rows = descent._RowAdam(by_row, decay)
    dense = descent._Adam({"table": whole}, decay)
    for step in range(30):
        slope = gradients_of(step + 1, 6, 3)
        order = np.random.default_rng(step).permutation(6)
        rows.step(order, slope[order], 0.01)
        dense.step({"table": slope}, 0.01)
    assert np.abs(whole - start).max() > 0.05
    np.testing.assert_allclose(by_row, whole, rtol=1e-5, atol=1e-6)


def test_adam_leaves_rows_alone_that_no_step_touched() -> None:
    start = gradients_of(0, 6, 3)
    table = start.copy()
    adam = descent._RowAdam(table, 0.5)
    for step in range(5):
        adam.step(np.array([4, 1, 4]), gradients_of(step, 3, 3), 0.01)
    untouched = [0, 2, 3, 5]
    assert table[untouched].tobytes() == start[untouched].tobytes()
    assert np.all(table[[1, 4]] != start[[1, 4]])


def test_a_row_touched_late_moves_as_one_touched_at_once() -> None:
    one, other = (np.ones((2, 3), np.float32) for _ in range(2))
    early, late = descent._RowAdam(one, 0.0), descent._RowAdam(other, 0.0)
    for step in range(4):
        late.step(np.array([0]), gradients_of(step, 1, 3), 0.01)
    slope = gradients_of(9, 1, 3)
    early.step(np.array([1]), slope, 0.01)
    late.step(np.array([1]), slope, 0.01)
    assert one[1].tobytes() == other[1].tobytes()


def test_a_row_touched_several_times_in_a_step_takes_the_sum() -> None:
    one, other = (np.ones((3, 2), np.float32) for _ in range(2))
    slope = np.array([[1, 2], [3, 4], [8, 16]], np.float32)
    descent._RowAdam(one, 0.1).step(np.array([2, 0, 2]), slope, 0.01)
    sums = np.array([[3, 4], [9, 18]], np.float32)
    descent._RowAdam(other, 0.1).step(np.array([0, 2]), sums, 0.01)
    assert one.tobytes() == other.tobytes()


def test_a_long_gradient_is_cut_to_the_limit() -> None:
    slope = gradients_of(3, 40)
    slope /= np.linalg.norm(slope)
    moved = []
    for length in (descent._NORM_LIMIT, 10 * descent._NORM_LIMIT):
        part = np.zeros(40, np.float32)
        adam = descent._Adam({"part": part}, 0.0)
        adam.step({"part": slope * np.float32(length)}, 0.01)
        adam.step({"part": slope * np.float32(0.1)}, 0.01)
        moved.append(part)
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-4)


# A whole fit.


def smooth(count: int, seed: int) -> tuple[Floats, Floats]:
    """Rows of a known smooth function of two numbers and a category."""
    draw = np.random.default_rng(seed)
    matrix = np.column_stack([draw.uniform(-1.5, 1.5, (count, 2)), draw.integers(0, 4, count)])
    values = np.sin(2 * matrix[:, 0]) * matrix[:, 1] + 0.5 * matrix[:, 2] + 3.0
    return matrix, values


def fitted(
    constants: Descent, shape: Shape = SHAPE, rows: int = 400, seed: int = 0
) -> tuple[Network, float]:
    matrix, values = smooth(rows, 1)
    random = np.random.default_rng(seed)
    known = initial(shape, float(np.median(values)), random)
    known["spread"] += np.float32(1)
    network = Network(shape, known)
    numbers, places = network.numbers(matrix), network.places(matrix)
    targets = values.astype(np.float32)
    return network, descend(shape, known, numbers, places, targets, constants, random)


def test_a_known_smooth_function_is_learned() -> None:
    shape = replace(SHAPE, width=32, vector=4)
    constants = replace(CONSTANTS, steps=800, batch=128)
    network, loss = fitted(constants, shape, rows=3_000)
    matrix, values = smooth(1_000, 2)
    errors = np.abs(network.score(matrix)[:, 0] - values)
    assert np.std(values) > 0.8
    assert np.mean(errors) < 0.03
    assert loss < 0.03


def test_a_category_that_was_always_hidden_says_nothing() -> None:
    network, _ = fitted(replace(CONSTANTS, hidden=(1.0,)))
    before = initial(SHAPE, 0.0, np.random.default_rng(0))["vectors"]
    assert network.parameters["vectors"][1:].tobytes() == before[1:].tobytes()
    assert network.parameters["vectors"][0].tobytes() != before[0].tobytes()


BUSY = replace(CONSTANTS, dropout=0.1, decay=0.01, vector_decay=0.05, hidden=(0.3,))


def test_the_same_seed_learns_the_same_bits_and_another_others() -> None:
    one, again, other = (fitted(BUSY, seed=seed)[0].to_array() for seed in (0, 0, 1))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


def test_scales_of_numbers_are_not_learned() -> None:
    network, _ = fitted(BUSY)
    for name, value in (("knee", 0.0), ("center", 0.0), ("spread", 1.0)):
        assert np.all(network.parameters[name] == value)


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33])
def test_few_rows_are_learned_from_as_well(rows: int) -> None:
    network, loss = fitted(BUSY, rows=rows)
    assert np.isfinite(loss)
    assert np.all(np.isfinite(network.to_array()))


@pytest.mark.parametrize("steps", [1, 2, 5, 9, 10, 11])
def test_a_fit_of_few_steps_has_a_loss_all_the_same(steps: int) -> None:
    _, loss = fitted(replace(CONSTANTS, steps=steps))
    assert np.isfinite(loss)


def test_the_loss_is_that_of_the_last_tenth_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Callable[..., Any] = descent._gradients
    losses = []

    def told(*arguments: Any) -> Any:
        found = honest(*arguments)
        losses.append(found[0])
        return found

    monkeypatch.setattr(descent, "_gradients", told)
    _, loss = fitted(CONSTANTS)
    assert len(losses) == 60
    assert loss == pytest.approx(np.mean(losses[-6:]))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_small_fit_does_not_depend_on_threads(threads: int) -> None:
    expected = fitted(BUSY)[0].to_array()
    with threadpool_limits(threads):
        assert fitted(BUSY)[0].to_array().tobytes() == expected.tobytes()
