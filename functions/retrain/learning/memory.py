"""Past attempts as references of a network: cells as of any moment."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.history import Hashes, family_hashes
from leap_model.limits import MOST_CELLS_PER_FAMILY, MOST_CELLS_PER_MODEL_TYPE, MOST_FAMILY_CELLS
from leap_model.references import Asked, Cells, Known, Recall, References, asked_of, sizes_of


@dataclass(frozen=True, slots=True)
class Memory:
    """n attempts that were measured, and what a network left of them.

    `hardware` names the types that `hardware_at` (n,) counts; `rest` and `level` (n,) are what is
    left of the log of the target after the network, and after the log of the job's scale.
    """

    hardware: tuple[str, ...]
    hardware_at: NDArray[np.int32]
    family: Hashes
    model_type: Hashes
    size: NDArray[np.float32]
    completed_at: Ints
    rest: Floats
    level: Floats
    recall: Recall
    scale: str | None
    """The column that the levels are after."""

    def and_of(self, other: "Memory") -> "Memory":
        """Both, the other's types added where they are new."""
        names = tuple(dict.fromkeys((*self.hardware, *other.hardware)))
        places = np.array([names.index(name) for name in other.hardware], np.int32)
        both = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("family", "model_type", "size", "completed_at", "rest", "level")
        }
        at = np.concatenate([self.hardware_at, places[other.hardware_at]])
        return replace(self, hardware=names, hardware_at=at, **cast(dict[str, Any], both))

    def as_of(self, before: int) -> References:
        """The references that serve from a moment on: of what completed before it."""
        seen = np.flatnonzero(self.completed_at < before)
        cells, model_type = self._cells(seen)
        kept = _latest_of_each(cells, MOST_CELLS_PER_FAMILY)
        cells, model_type = cells.take(kept), model_type[kept]
        of_types = _of_families(cells, model_type)
        return References(
            cells.take(_latest(cells, MOST_FAMILY_CELLS)),
            of_types.take(_latest_of_each(of_types, MOST_CELLS_PER_MODEL_TYPE)),
            self.hardware,
            self.recall,
        )

    def known(self, jobs: Jobs, before: Ints, catalogue: Catalogue) -> Known:
        """What references as of (n,) moments say of n jobs."""
        asked = asked_of(jobs, family_hashes(jobs.family), catalogue, self.hardware)
        return self.recalled(asked, before)

    def recalled(self, asked: Asked, before: Ints) -> Known:
        """The same of jobs that were put in the references' terms before."""
        count = len(before)
        zeros = np.zeros(count)
        known = Known(zeros, zeros.copy(), zeros.copy(), np.zeros(count, np.int8))
        for moment in np.unique(before):
            rows = np.flatnonzero(before == moment)
            part = self.as_of(int(moment)).recalled(asked.take(rows))
            for name in Known.__slots__:
                getattr(known, name)[rows] = getattr(part, name)
        return known

    def _cells(self, seen: Ints) -> tuple[Cells, Hashes]:
        """A cell a (family, model type, hardware, size), and (cells,) their model types."""
        model_type, size = self.model_type[seen], self.size[seen]
        keys = (size[:, 1], size[:, 0], self.hardware_at[seen], model_type, self.family[seen])
        cells, firsts = _grouped(
            keys,
            self.rest[seen],
            self.level[seen],
            np.ones(len(seen), np.float32),
            self.completed_at[seen],
        )
        return cells, model_type[firsts]


def _of_families(cells: Cells, model_type: Hashes) -> Cells:
    """A cell a (model type, hardware, size): medians of its families' medians.

    A family has one vote in a model type, which its cells share: however many sizes it ran in, it
    moves others no further.
    """
    keys = (cells.size[:, 1], cells.size[:, 0], cells.hardware, model_type)
    firsts = _heads((model_type, cells.key), np.arange(len(cells.key)))
    lengths = np.diff(np.append(firsts, len(cells.key)))
    votes = np.repeat(1.0 / lengths, lengths).astype(np.float32)
    return _grouped(keys, cells.rest, cells.level, votes, cells.last)[0]


def remembered(
    jobs: Jobs,
    completed_at: Ints,
    rest: Floats,
    level: Floats,
    catalogue: Catalogue,
    recall: Recall,
    scale: str | None,
) -> Memory:
    """The memory of n measured attempts."""
    names = tuple(sorted(set(jobs.hardware_type.values)))
    places = {name: at for at, name in enumerate(names)}
    return Memory(
        names,
        jobs.hardware_type.recode(places, -1),
        family_hashes(jobs.family),
        family_hashes(jobs.model_type),
        sizes_of(jobs, catalogue),
        completed_at,
        rest,
        level,
        recall,
        scale,
    )


def _grouped(
    keys: tuple[NDArray[np.generic], ...],
    rest: NDArray[np.generic],
    level: NDArray[np.generic],
    votes: NDArray[np.float32],
    completed_at: Ints,
) -> tuple[Cells, Ints]:
    """One cell for each distinct row of keys, the last of which becomes the cells' key;
    and (cells,) a row of each."""
    order = np.lexsort(keys)
    heads = _heads(keys, order)
    group = np.cumsum(np.isin(np.arange(len(order)), heads)) - 1
    ends = np.append(heads[1:], len(order))
    cells = Cells(
        key=keys[-1][order][heads].astype(np.uint64),
        hardware=keys[2][order][heads].astype(np.int32),
        size=np.stack([keys[1][order][heads], keys[0][order][heads]], axis=1).astype(np.float32),
        rest=_medians(rest[order], group, heads, ends),
        level=_medians(level[order], group, heads, ends),
        votes=np.add.reduceat(votes[order], heads) if len(heads) else votes[:0],
        last=np.maximum.reduceat(completed_at[order], heads) if len(heads) else completed_at[:0],
    )
    return cells, order[heads]


def _heads(keys: tuple[NDArray[np.generic], ...], order: NDArray[np.int64]) -> Ints:
    """Where in the order a row of keys differs from the one before; unknown sizes are alike."""
    changed = np.zeros(max(len(order) - 1, 0), bool)
    for key in keys:
        values = key[order]
        differ = values[1:] != values[:-1]
        if values.dtype.kind == "f":
            differ &= ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        changed |= differ
    return np.flatnonzero(np.append(True, changed))[: len(order)]


def _medians(
    values: NDArray[np.generic], group: Ints, heads: Ints, ends: Ints
) -> NDArray[np.float32]:
    """(groups,) the median of each group of consecutive rows."""
    ordered = values[np.lexsort((values, group))].astype(np.float64)
    low, high = (heads + ends - 1) // 2, (heads + ends) // 2
    middle: NDArray[np.float32] = ((ordered[low] + ordered[high]) / 2).astype(np.float32)
    return middle


def _latest_of_each(cells: Cells, most: int) -> Ints:
    """Where the latest cells of each key are, in the cells' order."""
    order = np.lexsort((np.arange(len(cells.key)), -cells.last, cells.key))
    keys = cells.key[order]
    starts = np.searchsorted(keys, keys, "left")
    return np.sort(order[np.arange(len(order)) - starts < most])


def _latest(cells: Cells, most: int) -> Ints:
    """Where the latest cells of all are, in the cells' order."""
    return np.sort(np.lexsort((np.arange(len(cells.key)), -cells.last))[:most])
