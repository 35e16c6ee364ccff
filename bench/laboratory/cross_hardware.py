"""A hardware type that nobody has measured: all runs of one type withheld at a time.

A shape is a model type, a number of accelerators and a global batch. What a shape does on a type is
the median of its runs there, measured and predicted alike. The withheld type is predicted by a
method that saw none of its runs, in training or in history; the types that it is compared with are
predicted by the same method, which did see theirs.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.laboratory.decisions import Stakes, decisions
from bench.laboratory.measured_data import Measured, night_of_rows
from bench.laboratory.measured_splits import marks
from bench.laboratory.methods import Method
from functions.retrain.nights import Night
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import accelerators_of

MOST_COMMON = "mlperf"
"""The source whose runs decide which types are withheld."""
LEAST_RUNS = 150
"""A type with more runs than this is withheld in turn."""
PARTS = ("mlperf", "all")
"""Which runs count: those of the benchmark with rules, or of every source."""

Shape = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Withheld:
    """One type withheld: the night without it, and the rows of the data that it is asked of.

    `own` (m,) tells its runs from those of the same shapes on other types.
    """

    hardware_type: str
    night: Night
    rows: Ints
    own: NDArray[np.bool_]


def withheld_types(data: Measured) -> list[str]:
    """The types with more than 150 runs of MLPerf, most first."""
    used = used_types(data)[data.sources == MOST_COMMON]
    names, counts = np.unique(used, return_counts=True)
    order = np.lexsort((names, -counts))
    return [str(names[at]) for at in order if counts[at] > LEAST_RUNS]


def withhold(data: Measured, shapes: list[Shape], name: str) -> Withheld:
    """The night of everything but a type, asked of its runs and of its shapes elsewhere."""
    own = used_types(data) == name
    its = {shapes[row] for row in np.flatnonzero(own)}
    rows = np.array([at for at, shape in enumerate(shapes) if own[at] or shape in its], np.int64)
    return Withheld(name, night_of_rows(data, ~own, rows), rows, own[rows])


def shapes_of(data: Measured) -> list[Shape]:
    """The shape of each row, numbers to six digits: batches were divided by hosts."""
    jobs = data.attempts.jobs
    accelerators = accelerators_of(jobs, Hardware(jobs, data.catalogue))
    batch = jobs.batch_size * jobs.num_trainers
    return [
        (jobs.model_type.values[code], float(f"{count:.6g}"), float(f"{total:.6g}"))
        for code, count, total in zip(jobs.model_type.codes, accelerators, batch, strict=True)
    ]


def sit_withheld(
    data: Measured, shapes: list[Shape], exam: Withheld, method: Method
) -> dict[str, Any]:
    """What a method gets for a type, of MLPerf's runs and of all.

    Besides the figures of its runs and `log_error`, the median |log predicted ÷ measured|: over
    `shapes` measured on it and on others, `pairs_by_throughput` and `pairs_by_dollar`, the share of
    pairs of it and another type in the right order, and `regret`, the extra dollars of the first
    choice as a share of the best's, where it has a price.
    """
    said = method.predict(exam.night)
    measured = data.attempts.measured[exam.rows]
    sources = data.sources[exam.rows]
    used = used_types(data)[exam.rows]
    told = {}
    for part in PARTS:
        counted = np.ones(len(said), bool) if part == "all" else sources == part
        mine = counted & exam.own
        grid = _grid([shapes[row] for row in exam.rows], used, measured, said, counted)
        told[part] = {
            **marks(measured[mine], said[mine]),
            "log_error": _median(np.abs(np.log(said[mine] / measured[mine]))),
            **compared(grid, exam.hardware_type, data.catalogue),
        }
    return told


@dataclass(frozen=True, slots=True)
class Grid:
    """What shapes do on types: (shapes, types) each, NaN where not known."""

    types: tuple[str, ...]
    measured: Floats
    said: Floats


def _grid(
    shapes: list[Shape],
    used: NDArray[np.str_],
    measured: Floats,
    said: Floats,
    counted: NDArray[np.bool_],
) -> Grid:
    cells: dict[tuple[Shape, str], list[int]] = defaultdict(list)
    for row in np.flatnonzero(counted):
        cells[shapes[row], str(used[row])].append(int(row))
    names = tuple(sorted({name for _, name in cells}))
    every = {shape: at for at, shape in enumerate(dict.fromkeys(shape for shape, _ in cells))}
    grid = Grid(names, *(np.full((len(every), len(names)), np.nan) for _ in range(2)))
    for (shape, name), rows in cells.items():
        at = every[shape], names.index(name)
        grid.measured[at] = np.median(measured[rows])
        known = np.log(said[rows])[~np.isnan(said[rows])]
        grid.said[at] = np.exp(np.median(known)) if len(known) else np.nan
    return grid


def compared(grid: Grid, name: str, catalogue: Catalogue) -> dict[str, Any]:
    """How a type stands among the others of the shapes that were measured on it and elsewhere."""
    if name not in grid.types:
        return dict.fromkeys(("pairs_by_throughput", "pairs_by_dollar", "regret"), None) | {
            "shapes": 0
        }
    column = grid.types.index(name)
    several = np.count_nonzero(~np.isnan(grid.measured), axis=1) > 1
    shared = several & ~np.isnan(grid.measured[:, column])
    measured, said = grid.measured[shared], grid.said[shared]
    # The accelerators of a shape are as many on every type: a price for each is a price for all.
    price = np.array([_price(catalogue, other) for other in grid.types])
    return {
        "shapes": int(shared.sum()),
        "pairs_by_throughput": _pairs(measured, said, column),
        "pairs_by_dollar": _pairs(measured / price, said / price, column),
        "regret": _regret(measured, said, price, column),
    }


def _pairs(measured: Floats, said: Floats, column: int) -> float | None:
    """The share of pairs of one column and another, both known and measured unlike, whose order is
    right; ties count half."""
    true = np.sign(measured[:, [column]] - measured)
    told = np.sign(said[:, [column]] - said)
    known = ~np.isnan(true) & ~np.isnan(told) & (true != 0)
    if not known.any():
        return None
    return float(np.mean(np.where(told == 0, 0.5, true == told)[known]))


def _regret(measured: Floats, said: Floats, price: Floats, column: int) -> float | None:
    """Over shapes whose withheld type has a price and an answer."""
    rows = np.flatnonzero(~np.isnan(said[:, column] / price[column]))
    unknown = np.full(len(rows), np.nan)
    stakes = Stakes(
        throughput=measured[rows],
        dollars_per_hour=np.broadcast_to(price, measured[rows].shape),
        used=np.full(len(rows), -1, np.int64),
        accelerator_hours=unknown,
        dollars=unknown,
        cold=np.zeros(len(rows), bool),
    )
    regret: float | None = decisions(stakes, said[rows])["regret"]
    return regret


def _price(catalogue: Catalogue, name: str) -> float:
    """Dollars an hour of one accelerator, NaN where the catalogue does not say."""
    known = catalogue.find(name)
    cost = None if known is None else known.host_cost(1.0)
    return np.nan if cost is None else cost


def used_types(data: Measured) -> NDArray[np.str_]:
    """(n,) the hardware type of each row."""
    labels = data.attempts.jobs.hardware_type
    return np.array(labels.values)[labels.codes]


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
