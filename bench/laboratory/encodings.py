"""Columns of numbers as networks take them, fitted on training rows."""

from dataclasses import dataclass

import numpy as np

from leap_model.columns import Floats, Matrix


@dataclass(frozen=True, slots=True)
class Standard:
    """Signed logarithms with mean 0 and deviation 1, and a flag for what is missing.

    `center` and `spread` (columns,) are of training rows; `flagged` names columns that miss any.
    """

    center: Floats
    spread: Floats
    flagged: Floats

    @classmethod
    def of(cls, matrix: Matrix) -> "Standard":
        """Fitted on an (n, columns) matrix with NaN for missing."""
        values = _squeezed(matrix)
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=0), 1)
        center = np.where(known, values, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / count)
        flagged = np.flatnonzero(~known.all(axis=0)).astype(np.float64)
        return cls(center, np.where(spread > 0, spread, 1.0), flagged)

    def __call__(self, matrix: Matrix) -> Floats:
        """(n, columns + flags) the encoded rows; a missing value is the mean."""
        scaled = (_squeezed(matrix) - self.center) / self.spread
        missing = np.isnan(scaled)
        flags = missing[:, self.flagged.astype(np.int64)]
        return np.hstack([np.clip(np.where(missing, 0.0, scaled), -5, 5), flags])


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """Piecewise-linear encoding of numbers (Gorishniy, Rubachev, Babenko, 2022, section 3.2): a
    column becomes one number a bin between quantiles, 1 for a bin below the value, 0 for one
    above, and how far the value is through the bin that holds it.

    `edges` has the increasing edges of each column. A missing value is 0 throughout.
    """

    edges: tuple[Floats, ...]

    @classmethod
    def of(cls, matrix: Matrix, bins: int) -> "PiecewiseLinear":
        """Fitted on an (n, columns) matrix with NaN for missing."""
        shares = np.linspace(0, 1, bins + 1)
        edges = []
        for column in matrix.T.astype(np.float64):
            known = column[~np.isnan(column)]
            edges.append(np.unique(np.quantile(known, shares)) if len(known) else np.zeros(1))
        return cls(tuple(edges))

    def __call__(self, matrix: Matrix) -> Floats:
        """(n, bins of all columns) the encoded rows."""
        parts = []
        for column, edges in zip(matrix.T, self.edges, strict=True):
            if len(edges) > 1:
                through = (column[:, None] - edges[:-1]) / np.diff(edges)
                parts.append(np.where(np.isnan(through), 0.0, np.clip(through, 0, 1)))
        return np.hstack(parts) if parts else np.zeros((len(matrix), 0))


def _squeezed(matrix: Matrix) -> Floats:
    values = matrix.astype(np.float64)
    squeezed: Floats = np.sign(values) * np.log1p(np.abs(values))
    return squeezed
