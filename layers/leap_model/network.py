"""A residual network over the feature matrix: how it reads columns, and what it says.

Numbers are put on a logarithmic scale, categories become learned vectors (Guo and Berkhahn, Entity
Embeddings of Categorical Variables, 2016), and blocks of two layers each correct what came before
them (He et al., 2016; layer normalisation by Ba et al., 2016; SiLU by Elfwing et al., 2018).
Throughput is smooth in the logarithms of what decides it, and trees say a smooth thing badly.

All arithmetic is in 32 bits, of one row as of a thousand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.columns import Floats, Matrix
from leap_model.limits import MOST_CANDIDATES

Singles: TypeAlias = NDArray[np.float32]
Parameters: TypeAlias = Mapping[str, Singles]

FARTHEST = 4.0
"""Standard deviations beyond which a number is taken for one at that distance: a network goes on in
a straight line where it saw nothing."""
MOST_ROWS = 16_384
"""Read at once: a row takes some thousand bytes while it is."""
_SLICE = 8
_ONE_THREAD = 1 << 18
"""Multiplications that OpenBLAS gives to one thread: SMP_THRESHOLD_MIN of its build times
GEMM_MULTITHREAD_THRESHOLD, as numpy's wheels have them."""
_EPSILON = np.float32(1e-5)


@dataclass(frozen=True, slots=True)
class Shape:
    """Which columns of the matrix a network reads, and how large it is.

    Attributes
    ----------
    numbers : (numbers,) int
        Columns read as numbers.
    gaps : (gaps,) int
        Places in `numbers` of those whose absence is an input of its own.
    categories : (categories,) pairs of int
        Columns of category codes, and how many codes each has.
    width, blocks, vector : int
        Units of a layer, blocks, and numbers that stand for a category.
    """

    numbers: tuple[int, ...]
    gaps: tuple[int, ...]
    categories: tuple[tuple[int, int], ...]
    width: int
    blocks: int
    vector: int

    @property
    def inputs(self) -> int:
        """What the first layer reads."""
        return len(self.numbers) + len(self.gaps) + self.vector * len(self.categories)

    @property
    def rows(self) -> int:
        """Vectors of all categories: each column's codes, and one for none of them."""
        return sum(codes + 1 for _, codes in self.categories)

    def layout(self) -> dict[str, tuple[int, ...]]:
        """Every array of parameters and its shape, in the order of the file."""
        layout: dict[str, tuple[int, ...]] = {
            "knee": (len(self.numbers),),
            "center": (len(self.numbers),),
            "spread": (len(self.numbers),),
            "vectors": (self.rows, self.vector),
            "input.weight": (self.inputs, self.width),
            "input.bias": (self.width,),
        }
        for block in range(self.blocks):
            layout |= {
                f"{block}.gain": (self.width,),
                f"{block}.shift": (self.width,),
                f"{block}.first.weight": (self.width, self.width),
                f"{block}.first.bias": (self.width,),
                f"{block}.second.weight": (self.width, self.width),
                f"{block}.second.bias": (self.width,),
            }
        layout |= {
            "output.gain": (self.width,),
            "output.shift": (self.width,),
            "output.weight": (self.width,),
            "direct.weight": (self.inputs,),
            "level": (1,),
        }
        return layout

    @property
    def slice_rows(self) -> int:
        """Rows whose products BLAS makes by one thread."""
        return max(1, min(_SLICE, _ONE_THREAD // (max(self.inputs, self.width) * self.width)))

    def to_json(self) -> dict[str, Any]:
        """The form that `from_json` reads back."""
        return {
            "numbers": list(self.numbers),
            "gaps": list(self.gaps),
            "categories": [list(pair) for pair in self.categories],
            "width": self.width,
            "blocks": self.blocks,
            "vector": self.vector,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Shape":
        """Read a shape back.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is malformed.
        """
        shape = cls(
            tuple(int(column) for column in document["numbers"]),
            tuple(int(place) for place in document["gaps"]),
            tuple((int(column), int(codes)) for column, codes in document["categories"]),
            *(int(document[name]) for name in ("width", "blocks", "vector")),
        )
        counts = (shape.width, shape.blocks, shape.vector, *(c for _, c in shape.categories))
        if min(counts) < 1 or any(not 0 <= at < len(shape.numbers) for at in shape.gaps):
            raise ValueError("a network's shape has a size below 1, or a gap of no number")
        return shape


def on_scale(values: Floats, knee: Singles) -> Floats:
    """(n, numbers) asinh(value ÷ knee): a logarithm far from 0, a straight line near it, the same
    for negative values. Where the knee is 0 the value itself."""
    with np.errstate(over="ignore"):
        bent = np.arcsinh(values / np.where(knee > 0, knee, 1.0))
    return np.where(knee > 0, bent, values)


@dataclass(frozen=True, slots=True)
class Network:
    """A network that can be asked. `parameters` are as the shape's layout has them."""

    shape: Shape
    parameters: Parameters

    def score(self, matrix: Matrix) -> Floats:
        """(n, 1) what the network says of each row of an (n, columns) matrix."""
        if len(matrix) > MOST_ROWS:
            starts = range(0, len(matrix), MOST_ROWS)
            return np.concatenate([self.score(matrix[at : at + MOST_ROWS]) for at in starts])
        vectors = self.parameters["vectors"][self.places(matrix)]
        vectors = vectors.reshape(len(matrix), self.shape.vector * len(self.shape.categories))
        inputs = np.concatenate([*self.numbers(matrix), vectors], axis=1)
        if len(matrix) <= MOST_CANDIDATES:
            inputs = sliced(inputs, self.shape.slice_rows)
        result: Floats = said(self.shape.blocks, self.parameters, inputs).astype(np.float64)
        return result.reshape(-1, 1)[: len(matrix)]

    def numbers(self, matrix: Matrix) -> tuple[Singles, Singles]:
        """(n, numbers) standardised, 0 where missing, and (n, gaps) 1 where missing."""
        known = self.parameters
        values = matrix[:, list(self.shape.numbers)].astype(np.float64)
        missing = np.isnan(values)
        with np.errstate(over="ignore"):
            scaled = (on_scale(values, known["knee"]) - known["center"]) / known["spread"]
        near = np.clip(np.where(missing, 0.0, scaled), -FARTHEST, FARTHEST)
        return near.astype(np.float32), missing[:, list(self.shape.gaps)].astype(np.float32)

    def places(self, matrix: Matrix) -> NDArray[np.int64]:
        """(n, categories) the row of `vectors` of each code, a column's first where it has none."""
        columns, codes = np.array(self.shape.categories, np.int64).reshape(-1, 2).T
        code = matrix[:, columns]
        known = (code >= 0) & (code < codes)
        starts = np.cumsum(codes + 1) - (codes + 1)
        return starts + np.where(known, code + 1, 0).astype(np.int64)

    def to_array(self) -> Singles:
        """Every parameter in the order of the layout, end to end."""
        layout = self.shape.layout()
        return np.concatenate([self.parameters[name].ravel() for name in layout])

    @classmethod
    def of_array(cls, shape: Shape, values: Singles) -> "Network":
        """The network of a shape whose parameters lie end to end.

        Raises
        ------
        ValueError
            They are not in 32 bits end to end, not as many as the shape has, or not all finite, or
            a spread is not positive.
        """
        if values.dtype != np.float32 or values.ndim != 1:
            raise ValueError("a network's parameters must be numbers of 32 bits in one row")
        parameters: dict[str, Singles] = {}
        start = 0
        for name, size in shape.layout().items():
            end = start + int(np.prod(size))
            parameters[name] = values[start:end].reshape(size)
            start = end
        if len(values) != start or not np.all(np.isfinite(values)):
            raise ValueError("a network's parameters do not fit its shape")
        if np.any(parameters["spread"] <= 0) or np.any(parameters["knee"] < 0):
            raise ValueError("a network's scales must be positive")
        return cls(shape, parameters)


def sliced(inputs: Singles, rows: int) -> Singles:
    """(…, slices, rows, inputs) of (…, n, inputs), the last slice filled up with zeros.

    BLAS gives a product of many rows to several threads. In a launcher these wait for each other
    on cores that have other work, and a ranking for the last of them.
    """
    *others, count, width = inputs.shape
    slices = -(-count // rows)
    if slices * rows != count:
        filled = np.zeros((*others, slices * rows, width), np.float32)
        filled[..., :count, :] = inputs
        inputs = filled
    return inputs.reshape(*others, slices, rows, width)


def said(blocks: int, known: Mapping[str, Any], inputs: Singles) -> Singles:
    """(…, n) what (…, n, inputs) come to by the parameters of a network, and (networks, …, n, 1)
    what (networks, …, n, inputs) do by those of a stack."""
    hidden = inputs @ known["input.weight"] + known["input.bias"]
    for block in range(blocks):
        first = _normal(hidden) * known[f"{block}.gain"] + known[f"{block}.shift"]
        first = first @ known[f"{block}.first.weight"] + known[f"{block}.first.bias"]
        hidden = hidden + (
            silu(first) @ known[f"{block}.second.weight"] + known[f"{block}.second.bias"]
        )
    last = silu(_normal(hidden) * known["output.gain"] + known["output.shift"])
    result: Singles = (
        last @ known["output.weight"] + inputs @ known["direct.weight"] + known["level"]
    )
    return result


def _normal(hidden: Singles) -> Singles:
    centered: Any = hidden - _mean(hidden)
    variance = _mean(centered * centered)
    result: Singles = centered / np.sqrt(variance + _EPSILON)
    return result


def _mean(values: Singles) -> Singles:
    """(…, 1) of each row: what numpy's mean does, in half its time on a few rows."""
    total: Any = np.add.reduce(values, axis=-1, keepdims=True)
    result: Singles = total / np.float32(values.shape[-1])
    return result


def silu(values: Singles) -> Singles:
    """values × their logistic."""
    result: Singles = values * logistic(values)
    return result


def logistic(values: Singles) -> Singles:
    """1 ÷ (1 + exp(−value)), without overflow."""
    result: Singles = 0.5 + 0.5 * np.tanh(0.5 * values)
    return result
