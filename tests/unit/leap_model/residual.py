"""Small residual networks, and what the definition says of a row, in plain Python."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leap_model.columns import Floats
from leap_model.network import FARTHEST, Network, Shape

SHAPE = Shape(
    numbers=(0, 2, 5), gaps=(1,), categories=((1, 3), (4, 2)), width=6, blocks=2, vector=3
)
"""Over seven columns, two of which it does not read."""
COLUMNS = 7


def network_of(shape: Shape = SHAPE, seed: int = 0) -> Network:
    """A network whose every parameter matters, the first number on its own scale."""
    draw = np.random.default_rng(seed)
    known = {
        name: draw.normal(0.0, 0.5, size).astype(np.float32)
        for name, size in shape.layout().items()
    }
    known["spread"] = np.abs(known["spread"]) + np.float32(0.5)
    known["knee"] = np.abs(known["knee"]) + np.float32(0.1)
    known["knee"][:1] = 0.0
    return Network(shape, known)


def rows_of(count: int, seed: int = 1) -> Floats:
    """Rows with numbers of any size, known codes, and gaps."""
    draw = np.random.default_rng(seed)
    matrix = draw.normal(0.0, 3.0, (count, COLUMNS))
    matrix[:, 5] = np.sinh(matrix[:, 5])
    matrix[:, 1] = draw.integers(0, 3, count)
    matrix[:, 4] = draw.integers(0, 2, count)
    matrix[draw.random(matrix.shape) < 0.1] = np.nan
    return matrix


def said_of(network: Network, row: Sequence[float]) -> float:
    """What a network says of one row: every sum written out, in 64 bits."""
    known: dict[str, Any] = {name: part.tolist() for name, part in network.parameters.items()}
    inputs = _inputs(network.shape, known, row)
    hidden = _layer(inputs, known, "input")
    for block in range(network.shape.blocks):
        first = _normal(hidden, known[f"{block}.gain"], known[f"{block}.shift"])
        first = [_silu(value) for value in _layer(first, known, f"{block}.first")]
        second = _layer(first, known, f"{block}.second")
        hidden = [value + more for value, more in zip(hidden, second, strict=True)]
    last = _normal(hidden, known["output.gain"], known["output.shift"])
    said = _product([_silu(value) for value in last], known["output.weight"])
    return said + _product(inputs, known["direct.weight"]) + float(known["level"][0])


def _inputs(shape: Shape, known: dict[str, Any], row: Sequence[float]) -> list[float]:
    inputs: list[float] = []
    for at, column in enumerate(shape.numbers):
        value, knee = row[column], known["knee"][at]
        if math.isnan(value):
            inputs.append(0.0)
            continue
        bent = math.asinh(value / knee) if knee > 0 else value
        scaled = (bent - known["center"][at]) / known["spread"][at]
        inputs.append(min(max(scaled, -FARTHEST), FARTHEST))
    inputs += [float(math.isnan(row[shape.numbers[at]])) for at in shape.gaps]
    start = 0
    for column, codes in shape.categories:
        code = row[column]
        inputs += known["vectors"][start + (1 + int(code) if code in range(codes) else 0)]
        start += codes + 1
    return inputs


def _layer(values: Sequence[float], known: dict[str, Any], name: str) -> list[float]:
    columns = zip(*known[f"{name}.weight"], strict=True)
    return [
        _product(values, column) + bias
        for column, bias in zip(columns, known[f"{name}.bias"], strict=True)
    ]


def _product(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True))


def _normal(values: Sequence[float], gain: Sequence[float], shift: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return [
        (value - mean) / math.sqrt(variance + 1e-5) * gain[at] + shift[at]
        for at, value in enumerate(values)
    ]


def _silu(value: float) -> float:
    return value / (1 + math.exp(-value))
