"""The published marks of a real fleet (arXiv 2611.04057), and the same figures of any fleet.

Computed from attempts as written, one at a time: a generator of any make is measured alike.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from cli.simulation.arrays import Floats, Ints

Attempt = TypeVar("Attempt", bound=Mapping[str, Any])

MANY_TYPES = (19, 100, 660)
ENOUGH_FOR_A_KEY = 10
ENOUGH_FOR_A_TYPE = 200
"""Attempts below which the spread of a lookup key, or of a hardware type, is not looked at."""
WIDE = 1.5


@dataclass(frozen=True)
class Mark:
    """One figure: `published` is its value or, for a range, both its ends; `fleet` is like it, and
    None where the fleet is too small to say."""

    name: str
    published: float | tuple[float, float]
    fleet: float | tuple[float, float] | None


class Marks:
    """Collects attempts; 40 bytes each.

    The share of attempts under wide lookup keys is taken over the attempts whose key (model type,
    hardware type, hosts, batch size) has at least `ENOUGH_FOR_A_KEY` of them; a key is wide if
    the 90th percentile of its throughput is more than `WIDE` times the 10th.
    """

    def __init__(self) -> None:
        self._models: dict[str, int] = {}
        self._types: dict[str, int] = {}
        self._model, self._type, self._hosts = array("q"), array("q"), array("q")
        self._batch, self._throughput = array("d"), array("d")

    def add(self, attempt: Mapping[str, Any]) -> None:
        """Count one attempt; one without throughput counts nowhere, as in the publication."""
        throughput = attempt["throughput"]
        if not throughput or not throughput > 0:
            return
        self._model.append(self._models.setdefault(attempt["model_type"], len(self._models)))
        self._type.append(self._types.setdefault(attempt["hardware_type"], len(self._types)))
        self._hosts.append(attempt["num_trainers"])
        self._batch.append(attempt["batch_size"])
        self._throughput.append(throughput)

    def counted(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """The same attempts, each counted on its way."""
        for attempt in attempts:
            self.add(attempt)
            yield attempt

    def figures(self) -> list[Mark]:
        """Every mark, in the order of the publication."""
        logs = np.log10(np.array(self._throughput, dtype=np.float64))
        models, types = _numbers(self._model), _numbers(self._type)
        return [
            *_model_types(models),
            Mark("hardware types, at least", 22, float(len(self._types))),
            *_throughputs(logs),
            _range_by_type(types, logs),
            _wide_keys((models, types, _numbers(self._hosts), _batches(self._batch)), logs),
        ]


def _numbers(values: "array[int]") -> Ints:
    return np.array(values, dtype=np.int64)


def _batches(values: "array[float]") -> Ints:
    return np.unique(np.array(values, dtype=np.float64), return_inverse=True)[1].astype(np.int64)


def _model_types(models: Ints) -> list[Mark]:
    counts = np.sort(np.bincount(models))[::-1]
    first, second, all_types = MANY_TYPES

    def share(of: int) -> float | None:
        return float(counts[:of].sum() / counts.sum()) if len(counts) else None

    return [
        Mark(f"attempts of the {first} most popular model types", 0.37, share(first)),
        Mark(f"attempts of the {second} most popular model types", 0.78, share(second)),
        Mark("model types", all_types, float(len(counts))),
    ]


def _throughputs(logs: Floats) -> list[Mark]:
    names = ("smallest throughput", "largest throughput", "decades that throughput touches")
    if not len(logs):
        smallest = largest = decades = within = ratio = None
    else:
        ordered = np.sort(logs)
        smallest, largest = float(10 ** ordered[0]), float(10 ** ordered[-1])
        decades = float(np.floor(ordered[-1]) - np.floor(ordered[0]) + 1)
        after = np.searchsorted(ordered, ordered + 2, side="right")
        within = float((after - np.arange(len(ordered))).max() / len(ordered))
        ratio = _p95_to_p5(ordered)
    return [
        Mark(names[0], (1, 10), smallest),
        Mark(names[1], (1e6, 1e7), largest),
        Mark(names[2], 7, decades),
        Mark("attempts within the best two decades", 0.91, within),
        Mark("p95/p5 of throughput", 133, ratio),
    ]


def _p95_to_p5(logs: Floats) -> float:
    low, high = np.quantile(logs, [0.05, 0.95])
    return float(10 ** (high - low))


def _range_by_type(types: Ints, logs: Floats) -> Mark:
    order = np.argsort(types, kind="stable")
    groups = np.split(logs[order], np.cumsum(np.bincount(types))[:-1]) if len(types) else []
    ratios = [_p95_to_p5(group) for group in groups if len(group) >= ENOUGH_FOR_A_TYPE]
    ends = (min(ratios), max(ratios)) if ratios else None
    return Mark("p95/p5 on single hardware types", (42, 701), ends)


def _wide_keys(key: tuple[Ints, ...], logs: Floats) -> Mark:
    name = f"attempts under lookup keys with p90/p10 > {WIDE}"
    order = np.lexsort((logs, *key))
    sorted_logs = logs[order]
    changes = np.arange(len(logs)) == 0
    for column in key:
        changes[1:] |= np.diff(column[order]) != 0
    starts = np.flatnonzero(changes)
    counts = np.diff(np.append(starts, len(logs)))
    enough = counts >= ENOUGH_FOR_A_KEY
    if not enough.any():
        return Mark(name, 0.56, None)
    starts, counts = starts[enough], counts[enough]
    low, high = (_quantile(sorted_logs, starts, counts, q) for q in (0.1, 0.9))
    wide = counts[high - low > np.log10(WIDE)].sum()
    return Mark(name, 0.56, float(wide / counts.sum()))


def _quantile(ordered: Floats, starts: Ints, counts: Ints, q: float) -> Floats:
    """The quantile of each group of sorted values, interpolated as numpy does."""
    at = q * (counts - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, counts - 1)
    return np.asarray(
        ordered[starts + low] * (1 - (at - low)) + ordered[starts + high] * (at - low)
    )
