"""Array types, and the few ways of drawing values that every part of the fleet uses."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

Columns = TypeVar("Columns")


def rows(columns: Columns, index: Ints) -> Columns:
    """The rows `index` of a dataclass whose every field is an array with one row an item."""
    taken: dict[str, Any] = {
        field.name: getattr(columns, field.name)[index]
        for field in fields(columns)  # type: ignore[arg-type]
    }
    return type(columns)(**taken)


def where(condition: Bools, columns: Columns, others: Columns) -> Columns:
    """The rows of `columns` where `condition` (rows,) holds, else those of `others`."""
    chosen: dict[str, Any] = {
        field.name: np.where(condition, getattr(columns, field.name), getattr(others, field.name))
        for field in fields(columns)  # type: ignore[arg-type]
    }
    return type(columns)(**chosen)


def column(values: Floats) -> Floats:
    """One value a row, as a column that broadcasts over hardware types."""
    return np.asarray(values, dtype=np.float64)[:, None]


def log_normal(rng: np.random.Generator, median: Floats, sigma: Floats) -> Floats:
    """One draw an element, with the given medians and standard deviations of the logarithm."""
    return np.asarray(median * np.exp(sigma * rng.standard_normal(median.shape)), dtype=np.float64)


def pick(rng: np.random.Generator, weights: Sequence[float], count: int) -> Ints:
    """`count` indices into `weights`, each as often as its weight says."""
    share = np.asarray(weights, dtype=np.float64)
    return rng.choice(len(share), size=count, p=share / share.sum())


def pick_rows(rng: np.random.Generator, weights: Floats) -> Ints:
    """One column index a row of `weights` (rows, columns), drawn by that row's weights."""
    edges = np.cumsum(weights, axis=1)
    threshold = rng.random((len(weights), 1)) * edges[:, -1:]
    return np.asarray((edges <= threshold).sum(axis=1), dtype=np.int64)


def rounded(values: Floats, digits: int = 3) -> Floats:
    """`values` at `digits` significant digits, as people write them down."""
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values) + 1e-300)))
    return np.asarray(np.where(values == 0, 0.0, np.round(values * scale) / scale))
