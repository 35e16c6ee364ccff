"""How a network learns: gradients worked out by hand, and steps down them.

Adam with decoupled weight decay (Kingma and Ba, 2015; Loshchilov and Hutter, 2019) on a rate that
rises and falls once (Smith and Topin, Super-Convergence, 2018). The loss is the absolute error,
rounded off below `_ROUND`, so that no absurd attempt pulls harder than any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leap_model.network import Shape, Singles, logistic

_ROUND = np.float32(0.05)
_EPSILON = np.float32(1e-5)
_FIRST, _SECOND = np.float32(0.9), np.float32(0.999)
_TINY = np.float32(1e-8)
_WARM_UP = 0.15
_NORM_LIMIT = 5.0
"""Longest gradient of the layers; longer ones are cut to it."""


@dataclass(frozen=True, slots=True)
class Together:
    """Inputs that one draw, of this chance, leaves out of a row: places among the numbers, among
    the gaps and among the categories."""

    chance: float = 0.0
    numbers: tuple[int, ...] = ()
    gaps: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()

    def left_out(
        self, rows: int, parts: Sequence[Singles], hidden: NDArray[np.bool_], random: Any
    ) -> None:
        """Put what is left out of some of the rows in the place of what was there."""
        drawn = random.random(rows, np.float32) < self.chance
        values, gaps = parts
        values[np.ix_(drawn, self.numbers)] = 0.0
        gaps[np.ix_(drawn, self.gaps)] = 1.0
        hidden[np.ix_(drawn, self.categories)] = True


@dataclass(frozen=True, slots=True)
class Descent:
    """The constants of one fit. `hidden` are the chances that a category is left out of a step, one
    a category: what a network must answer without at times, it learns to do without. So are the
    inputs of `together`."""

    steps: int
    batch: int
    rate: float
    decay: float
    vector_decay: float
    dropout: float
    hidden: tuple[float, ...]
    together: Together = Together()


def initial(shape: Shape, level: float, random: np.random.Generator) -> dict[str, Singles]:
    """Parameters before the first step; the scales of numbers are the caller's to set."""
    known: dict[str, Singles] = {}
    for name, size in shape.layout().items():
        if name.endswith("gain"):
            known[name] = np.ones(size, np.float32)
        elif name == "vectors":
            known[name] = random.normal(0.0, 0.1, size).astype(np.float32)
        elif name.endswith("weight"):
            most = 1.0 / np.sqrt(size[0])
            known[name] = random.uniform(-most, most, size).astype(np.float32)
        else:
            known[name] = np.zeros(size, np.float32)
    known["level"] += np.float32(level)
    return known


def descend(
    shape: Shape,
    known: dict[str, Singles],
    numbers: Sequence[Singles],
    places: NDArray[np.integer],
    values: Singles,
    descent: Descent,
    random: np.random.Generator,
) -> float:
    """Fit the parameters in place, and return the mean loss of the last tenth of the steps.

    Parameters
    ----------
    numbers : pair of (n, numbers) and (n, gaps)
    places : (n, categories) int
        Rows of `vectors`.
    values : (n,)
        What is learned.
    """
    rows = len(values)
    batch = min(descent.batch, rows)
    starts = np.cumsum([0, *(codes + 1 for _, codes in shape.categories)])[:-1]
    chances = np.array(descent.hidden, np.float32)
    layers = [name for name in known if name not in ("knee", "center", "spread", "vectors")]
    adam = _Adam({name: known[name] for name in layers}, descent.decay)
    vectors = _RowAdam(known["vectors"], descent.vector_decay)
    losses = []
    last = descent.steps - max(descent.steps // 10, 1)
    order, at = random.permutation(rows), 0
    for step in range(descent.steps):
        if at + batch > rows:
            order, at = random.permutation(rows), 0
        chosen = order[at : at + batch]
        at += batch
        hidden = random.random((batch, len(chances)), np.float32) < chances
        parts = [part[chosen] for part in numbers]
        descent.together.left_out(batch, parts, hidden, random)
        where = np.where(hidden, starts, places[chosen])
        inputs = np.concatenate([*parts, known["vectors"][where].reshape(batch, -1)], axis=1)
        loss, gradients, of_inputs = _gradients(
            shape, known, inputs, values[chosen], descent.dropout, random
        )
        rate = _rate(step, descent.steps, descent.rate)
        adam.step(gradients, rate)
        of_vectors = of_inputs[:, inputs.shape[1] - where.size // batch * shape.vector :]
        vectors.step(where.ravel(), of_vectors.reshape(-1, shape.vector), rate)
        if step >= last:
            losses.append(loss)
    return float(np.mean(losses))


def _rate(step: int, steps: int, most: float) -> float:
    """Up from a 25th of the greatest rate, and down to nearly nothing, along half cosines."""
    turn = _WARM_UP * steps
    if step < turn:
        low, high, share = most / 25, most, step / turn
    else:
        low, high, share = most, most / 2.5e5, (step - turn) / max(steps - turn, 1)
    return float(low + (high - low) * (1 - np.cos(np.pi * share)) / 2)


# BLAS reads beyond a row that is shorter than its registers, and may flag what it finds there.
@np.errstate(invalid="ignore")
def _gradients(
    shape: Shape,
    known: Mapping[str, Any],
    inputs: Any,
    values: Any,
    dropout: float,
    random: np.random.Generator,
) -> tuple[float, dict[str, Singles], Singles]:
    """The loss of a batch, and its gradients by the layers' parameters and by the inputs."""
    keep = np.float32(1 - dropout)
    hidden = inputs @ known["input.weight"] + known["input.bias"]
    passed = []
    for block in range(shape.blocks):
        normal, spread = _normal(hidden)
        read = normal * known[f"{block}.gain"] + known[f"{block}.shift"]
        first = read @ known[f"{block}.first.weight"] + known[f"{block}.first.bias"]
        mask = (random.random(first.shape, np.float32) < keep) / keep
        share = logistic(first)
        kept = first * share * mask
        hidden = hidden + kept @ known[f"{block}.second.weight"] + known[f"{block}.second.bias"]
        passed.append((normal, spread, read, first, share, mask, kept))
    normal, spread = _normal(hidden)
    last = normal * known["output.gain"] + known["output.shift"]
    last_share = logistic(last)
    bent = last * last_share
    said = bent @ known["output.weight"] + inputs @ known["direct.weight"] + known["level"]

    error = said - values
    size = np.abs(error)
    loss = float(np.mean(np.where(size < _ROUND, error**2 / (2 * _ROUND), size - _ROUND / 2)))
    of_said = np.clip(error / _ROUND, -1, 1) / np.float32(len(values))

    found: dict[str, Singles] = {
        "output.weight": bent.T @ of_said,
        "direct.weight": inputs.T @ of_said,
        "level": of_said.sum(keepdims=True),
    }
    of_inputs = np.outer(of_said, known["direct.weight"])
    of_last = np.outer(of_said, known["output.weight"]) * _silu_slope(last, last_share)
    found["output.gain"] = (of_last * normal).sum(axis=0)
    found["output.shift"] = of_last.sum(axis=0)
    of_hidden = _through_normal(of_last * known["output.gain"], normal, spread)
    for block in reversed(range(shape.blocks)):
        normal, spread, read, first, share, mask, kept = passed[block]
        found[f"{block}.second.weight"] = kept.T @ of_hidden
        found[f"{block}.second.bias"] = of_hidden.sum(axis=0)
        of_kept = of_hidden @ known[f"{block}.second.weight"].T
        of_first = of_kept * mask * _silu_slope(first, share)
        found[f"{block}.first.weight"] = read.T @ of_first
        found[f"{block}.first.bias"] = of_first.sum(axis=0)
        of_read = of_first @ known[f"{block}.first.weight"].T
        found[f"{block}.gain"] = (of_read * normal).sum(axis=0)
        found[f"{block}.shift"] = of_read.sum(axis=0)
        of_hidden = of_hidden + _through_normal(of_read * known[f"{block}.gain"], normal, spread)
    found["input.weight"] = inputs.T @ of_hidden
    found["input.bias"] = of_hidden.sum(axis=0)
    return loss, found, of_inputs + of_hidden @ known["input.weight"].T


def _normal(hidden: Any) -> tuple[Any, Any]:
    centered = hidden - hidden.mean(axis=1, keepdims=True)
    variance = np.mean(centered * centered, axis=1, keepdims=True)
    spread = np.sqrt(variance + _EPSILON)
    return centered / spread, spread


def _through_normal(gradient: Any, normal: Any, spread: Any) -> Any:
    along = np.mean(gradient * normal, axis=1, keepdims=True)
    return (gradient - gradient.mean(axis=1, keepdims=True) - normal * along) / spread


def _silu_slope(values: Any, share: Any) -> Any:
    """Of values × their logistic, by both."""
    return share * (1 + values * (1 - share))


class _Adam:
    """Adam over whole arrays, laid end to end so that a step is a few operations."""

    def __init__(self, parts: dict[str, Singles], decay: float) -> None:
        self._parts = parts
        self._names = list(parts)
        size = sum(part.size for part in parts.values())
        self._mean, self._square = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self._decay, self._steps = decay, 0

    def step(self, gradients: dict[str, Singles], rate: float) -> None:
        self._steps += 1
        slope = np.concatenate([gradients[name].ravel() for name in self._names])
        length = float(np.sqrt(np.dot(slope, slope)))
        if length > _NORM_LIMIT:
            slope *= np.float32(_NORM_LIMIT / length)
        self._mean += (1 - _FIRST) * (slope - self._mean)
        self._square += (1 - _SECOND) * (slope * slope - self._square)
        move = _move(self._mean, self._square, self._steps, rate)
        shrink = np.float32(1 - rate * self._decay)
        start = 0
        for name in self._names:
            part = self._parts[name]
            part *= shrink
            part -= move[start : start + part.size].reshape(part.shape)
            start += part.size


class _RowAdam:
    """Adam over the rows of a table, of which a step touches few: only those move."""

    def __init__(self, table: Singles, decay: float) -> None:
        self._table, self._decay = table, decay
        self._mean, self._square = np.zeros_like(table), np.zeros_like(table)
        self._steps = np.zeros((len(table), 1), np.int64)

    def step(self, rows: NDArray[np.int64], gradients: Singles, rate: float) -> None:
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        touched = ordered[firsts]
        slope = np.add.reduceat(gradients[order], firsts, axis=0)
        self._steps[touched] += 1
        mean = self._mean[touched] + (1 - _FIRST) * (slope - self._mean[touched])
        square = self._square[touched] + (1 - _SECOND) * (slope**2 - self._square[touched])
        self._mean[touched], self._square[touched] = mean, square
        move = _move(mean, square, self._steps[touched], rate)
        self._table[touched] = self._table[touched] * np.float32(1 - rate * self._decay) - move


def _move(mean: Any, square: Any, steps: Any, rate: float) -> Any:
    first = np.float32(1) - np.power(_FIRST, steps, dtype=np.float32)
    second = np.float32(1) - np.power(_SECOND, steps, dtype=np.float32)
    return np.float32(rate) * (mean / first) / (np.sqrt(square / second) + _TINY)
