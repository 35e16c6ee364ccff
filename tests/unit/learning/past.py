"""Attempts as memories hold them, and references read from the documentation in plain Python."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from functions.retrain.learning.memory import Memory
from leap_model.columns import Labels
from leap_model.history import family_hashes
from leap_model.limits import DAY_US
from leap_model.references import Cells, Recall

HARDWARE = ("fast-8", "mid-8", "slow-4")


@dataclass(frozen=True)
class Ran:
    """One measured attempt. `day` is when it completed; `accelerators` and `samples` are logs."""

    family: str = "mine"
    model_type: str = "type"
    on: str = "fast-8"
    accelerators: float = 2.0
    samples: float = 6.0
    day: float = 1.0
    rest: float = 0.0
    level: float = 0.0

    @property
    def completed_at(self) -> int:
        """In microseconds."""
        return round(self.day * DAY_US)


def memory_of(
    runs: Sequence[Ran],
    recall: Recall | None = None,
    hardware: Sequence[str] = HARDWARE,
    scale: str | None = None,
) -> Memory:
    """A memory of some attempts."""

    def hashes(names: Iterable[str]) -> Any:
        return family_hashes(Labels.of(names))

    return Memory(
        hardware=tuple(hardware),
        hardware_at=np.array([hardware.index(run.on) for run in runs], np.int32),
        family=hashes(run.family for run in runs),
        model_type=hashes(run.model_type for run in runs),
        size=np.array([(run.accelerators, run.samples) for run in runs], np.float32).reshape(-1, 2),
        completed_at=np.array([run.completed_at for run in runs], np.int64),
        rest=np.array([run.rest for run in runs], np.float64),
        level=np.array([run.level for run in runs], np.float64),
        recall=recall or Recall(),
        scale=scale,
    )


def drawn(count: int, seed: int = 0, days: int = 20) -> list[Ran]:
    """Attempts of few families, types and sizes, some of which nobody knows."""
    draw = np.random.default_rng(seed)
    sizes = (1.0, 2.0, 3.5, float("nan"))
    return [
        Ran(
            family=f"family {draw.integers(7)}",
            model_type=f"type {draw.integers(3)}",
            on=str(draw.choice(HARDWARE)),
            accelerators=float(draw.choice(sizes)),
            samples=float(draw.choice(sizes)),
            day=float(draw.integers(0, 2 * days)) / 2,
            rest=float(draw.normal()),
            level=float(draw.normal()),
        )
        for _ in range(count)
    ]


What = tuple[str, float | None, float | None]
Told = tuple[float, float, float, int]
Row = tuple[int, str, float | None, float | None, float, float, float, int]
"""Key, hardware type, both sizes, rest, level, votes, last: a cell."""


def by_hand(
    runs: Iterable[Ran], before: int, most_a_family: int, most_a_type: int
) -> tuple[list[Row], list[Row]]:
    """The cells of families and of model types of what completed before a moment, each sorted.

    A cell is what one family did of one model type, on one hardware type with as many accelerators
    and samples a step: the median of attempts. A model type's is the median of its families', each
    of which has one vote, shared by its cells.
    Of each key the cells whose latest attempt is the latest stay.
    """
    groups: dict[tuple[str, str, What], list[Ran]] = defaultdict(list)
    for run in runs:
        if run.completed_at < before:
            what = (run.on, _size(run.accelerators), _size(run.samples))
            groups[(run.family, run.model_type, what)].append(run)
    families: list[tuple[Row, str]] = []
    for (family, model_type, what), of in groups.items():
        rest, level = (_single(median(part)) for part in zip(*map(_told, of), strict=True))
        last = max(run.completed_at for run in of)
        row = (_hash(family), *what, rest, level, float(len(of)), last)
        families.append((row, model_type))
    kept = _kept(families, most_a_family)
    cells = Counter((row[0], model_type) for row, model_type in kept)
    of_type: dict[tuple[str, What], list[Told]] = defaultdict(list)
    for row, model_type in kept:
        (family_hash, *_, rest, level, _, last), what = row, row[1:4]
        share = 1 / cells[(family_hash, model_type)]
        of_type[(model_type, what)].append((rest, level, share, last))
    types: list[tuple[Row, str]] = []
    for (model_type, what), told in of_type.items():
        rests, levels, shares, lasts = zip(*told, strict=True)
        middles = _single(median(rests)), _single(median(levels))
        votes = round(sum(shares), 4)
        types.append(((_hash(model_type), *what, *middles, votes, max(lasts)), model_type))
    return _sorted(kept), _sorted(_kept(types, most_a_type))


def rows_of(cells: Cells, hardware: Sequence[str] = HARDWARE) -> list[Row]:
    """Cells as rows, in an order of their own."""
    columns = (getattr(cells, name).tolist() for name in Cells.__slots__)
    rows = [
        (key, hardware[at], _size(size[0]), _size(size[1]), rest, level, round(votes, 4), last)
        for key, at, size, rest, level, votes, last in zip(*columns, strict=True)
    ]
    return sorted(rows, key=_by_all)


def _by_all(row: Row) -> Any:
    return tuple((value is None, value if value is not None else 0) for value in row)


def _kept(rows: Iterable[tuple[Row, str]], most: int) -> list[tuple[Row, str]]:
    """Of each key the rows whose latest attempt is the latest."""
    by_key = defaultdict(list)
    for row, model_type in rows:
        by_key[row[0]].append((row, model_type))
    return [entry for of in by_key.values() for entry in sorted(of, key=lambda e: -e[0][-1])[:most]]


def _sorted(rows: Iterable[tuple[Row, str]]) -> list[Row]:
    return sorted((row for row, _ in rows), key=_by_all)


def _hash(name: str) -> int:
    return int(family_hashes(Labels.of([name]))[0])


def _size(size: float) -> float | None:
    return None if np.isnan(size) else size


def _single(value: float) -> float:
    return float(np.float32(value))


def _told(run: Ran) -> tuple[float, float]:
    return run.rest, run.level
