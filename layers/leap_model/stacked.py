"""Networks of one model asked at once: of a few rows, most of a layer's time is its call.

Networks that differ in where they started have one shape and read numbers on one scale. Their
parameters are stacked, so that a layer of all of them is one call; each row comes to the same bits
as by its network alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leap_model.columns import Floats, Matrix
from leap_model.network import Network, Singles, said, sliced

MOST_ROWS = 256
"""Beyond it a layer's time is its arithmetic, and a stack needs several times the memory."""
_SCALES = ("knee", "center", "spread")


@dataclass(frozen=True, slots=True)
class Stacked:
    """`first` stands for all of `names` in what they share. Parameters are (networks, …)."""

    names: tuple[str, ...]
    first: Network
    parameters: Mapping[str, Singles]

    @classmethod
    def of(cls, networks: Mapping[str, Network]) -> "Stacked | None":
        """The networks as a stack; None where they do not share shape and scale."""
        names = tuple(networks)
        if len(names) < 2:
            return None
        first, *others = networks.values()
        if any(other.shape != first.shape for other in others):
            return None
        for name in _SCALES:
            if any(np.any(one.parameters[name] != first.parameters[name]) for one in others):
                return None
        layout = first.shape.layout()
        stacked = {
            name: np.stack([one.parameters[name] for one in networks.values()])
            for name in layout
            if name not in _SCALES
        }
        beside = {name: _beside_slices(name, values) for name, values in stacked.items()}
        return cls(names, first, beside)

    def score(self, matrix: Matrix) -> dict[str, Floats]:
        """What each network says of an (n, columns) matrix, (n, 1) by name."""
        shape, count = self.first.shape, len(self.names)
        numbers, gaps = self.first.numbers(matrix)
        inputs = np.empty((count, len(matrix), shape.inputs), np.float32)
        ends = len(shape.numbers), len(shape.numbers) + len(shape.gaps)
        inputs[:, :, : ends[0]], inputs[:, :, ends[0] : ends[1]] = numbers, gaps
        vectors = self.parameters["vectors"][:, self.first.places(matrix)]
        inputs[:, :, ends[1] :] = vectors.reshape(count, len(matrix), shape.inputs - ends[1])
        told = said(shape.blocks, self.parameters, sliced(inputs, shape.slice_rows))
        every = told.reshape(count, -1, 1)[:, : len(matrix)].astype(np.float64)
        return dict(zip(self.names, every, strict=True))


def _beside_slices(name: str, values: Singles) -> Singles:
    """(networks, 1, …) parameters, so that they stand beside each slice of each network's rows."""
    if name == "vectors":
        return values
    if values.ndim == 2:  # a number a unit beside every row; weights to one number take its units
        values = values[:, :, None] if "weight" in name else values[:, None, :]
    return values[:, None]
