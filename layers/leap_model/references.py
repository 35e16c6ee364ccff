"""What ran before and resembles a job: how far off the network was there, and so is likely here.

A cell is what one family, or one model type, did on one hardware type with as many accelerators and
samples a step. Its `rest` is what is left of log throughput after the network, its `level` what is
left after the job's scale alone. A job recalls the cells of its family and of its model type, each
with a weight that falls with the distance in logarithms, with age, on other hardware, and for other
families (kernel regression: Nadaraya, Watson, 1964); it takes the weighted median of its model
type's, then of its family's beside that, and less of each the less there is. Where the family
never ran on the hardware type, what the nearest of its model type reached there, for their scale,
may count as well: it does among submissions to a benchmark, and not in a fleet of many teams.

A cell is a median of attempts, a model type's a median of families, and no correction exceeds
`most`: neither one absurd attempt nor a thousand from one source carry a prediction away.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints, Jobs
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import accelerators_of, logarithm
from leap_model.features.raw import Raw
from leap_model.history import Hashes, family_hashes
from leap_model.intervals import COLD, OWN_ELSEWHERE, OWN_HERE, UNFAMILIAR
from leap_model.limits import DAY_US

COLUMNS = ("known.rest", "known.level", "known.own")
MOST_VOTES = 8.0
"""Attempts, or families, beyond which a cell counts no more."""

Booleans: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Recall:
    """How much what ran before counts.

    Attributes
    ----------
    shrink : float
        Weight at which half of the median is believed.
    elsewhere : float
        Weight of a cell on other hardware.
    strangers : float
        Weight of other families.
    distance : float
        Difference in logarithms, of accelerators and of samples a step, that divides weights by e.
    days : float
        Age that does.
    own : float
        Share of the family's own level, after the job's scale, against the network with its rest;
        counts only where the family ran on the same hardware type.
    peers : float
        Share of its model type's level instead, where only other families ran on that type.
    near : float
        What `distance` is for that level.
    most : float
        Largest correction, in logarithms.
    """

    shrink: float = 0.3
    elsewhere: float = 0.2
    strangers: float = 0.03
    distance: float = 2.0
    days: float = 30.0
    own: float = 0.0
    peers: float = 0.0
    near: float = 0.3
    most: float = 1.0

    def to_json(self) -> dict[str, float]:
        """The form that `Recall(**document)` reads back."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells sorted by key, the hash of a family or a model type. (cells,), `size` (cells, 2)."""

    key: Hashes
    hardware: NDArray[np.int32]
    """Places in the references' hardware types."""
    size: NDArray[np.float32]
    """Natural logs of accelerators and of samples a step."""
    rest: NDArray[np.float32]
    level: NDArray[np.float32]
    votes: NDArray[np.float32]
    last: Ints
    """When the latest attempt completed, in microseconds."""

    def of(self, key: np.uint64) -> slice:
        """The cells of a key."""
        start, end = np.searchsorted(self.key, key, "left"), np.searchsorted(self.key, key, "right")
        return slice(int(start), int(end))

    def take(self, rows: NDArray[Any] | slice) -> "Cells":
        """The cells at some rows."""
        return Cells(*(getattr(self, name)[rows] for name in Cells.__slots__))


@dataclass(frozen=True, slots=True)
class Asked:
    """n jobs as references see them. `hardware` (n,) is −1 for types that never ran."""

    family: Hashes
    model_type: Hashes
    hardware: NDArray[np.int32]
    size: NDArray[np.float32]
    at: Ints

    def take(self, rows: NDArray[Any]) -> "Asked":
        """The jobs at some rows."""
        return Asked(*(getattr(self, name)[rows] for name in Asked.__slots__))


@dataclass(frozen=True, slots=True)
class Known:
    """What references say of n jobs. All (n,).

    `rest` is the correction of the network, already shrunk; `level` the family's own level, or its
    model type's, and `own` how much of it to take; `what` is known, a place in `intervals.GROUPS`.
    """

    rest: Floats
    level: Floats
    own: Floats
    what: NDArray[np.int8]

    def take(self, rows: NDArray[Any]) -> "Known":
        """What is said of the jobs at some rows."""
        return Known(*(getattr(self, name)[rows] for name in Known.__slots__))

    def columns(self) -> Raw:
        """As columns of the feature matrix."""
        return dict(zip(COLUMNS, (self.rest, self.level, self.own), strict=True))


@dataclass(frozen=True, slots=True)
class References:
    """The cells that travel with a model, and how to recall them."""

    families: Cells
    model_types: Cells
    hardware: tuple[str, ...]
    recall: Recall

    def latest(self) -> int:
        """When the latest attempt in any cell completed, in microseconds; 0 without one."""
        return int(max(cells.last.max(initial=0) for cells in (self.families, self.model_types)))

    def known(self, jobs: Jobs, families: Hashes, catalogue: Catalogue) -> Known:
        """What is known of n jobs as of their launches."""
        return self.recalled(asked_of(jobs, families, catalogue, self.hardware))

    def recalled(self, asked: Asked) -> Known:
        """The same of jobs that were put in the references' terms before."""
        count = len(asked.at)
        rest, level, own = np.zeros(count), np.zeros(count), np.zeros(count)
        what = np.full(count, UNFAMILIAR, np.int8)
        for rows in _alike(asked.family, asked.model_type):
            mine = self.families.of(asked.family[rows[0]])
            theirs = self.model_types.of(asked.model_type[rows[0]])
            near = _Near(self, asked, rows, mine, theirs)
            rest[rows] = near.rest()
            level[rows], own[rows] = near.level()
            what[rows] = near.what()
        return Known(rest, level, own, what)


class _Near:
    """Jobs of one family and model type beside the cells of both."""

    def __init__(
        self, references: References, asked: Asked, rows: Ints, mine: slice, theirs: slice
    ) -> None:
        self._recall = recall = references.recall
        self._asked = asked.take(rows)
        self._mine = references.families.take(mine)
        self._theirs = references.model_types.take(theirs)
        self._here, self._there = self._same(self._mine), self._same(self._theirs)
        self._weights = [
            self._falls(cells, trust, recall.distance) * np.where(same, 1.0, recall.elsewhere)
            for cells, trust, same in (
                (self._mine, 1.0, self._here),
                (self._theirs, recall.strangers, self._there),
            )
        ]

    def rest(self) -> Floats:
        """The family's median beside what the model type's leaves, as far as each is believed: were
        all one crowd, a popular model type would outvote every family of it."""
        shrink = self._recall.shrink
        rests = [cells.rest.astype(np.float64) for cells in (self._mine, self._theirs)]
        mine, others = map(weighted_median, rests, self._weights)
        expected = others[0] * others[1] / (others[1] + shrink)
        own = mine[1] / (mine[1] + shrink)
        most = self._recall.most
        return np.clip(expected + own * (mine[0] - expected), -most, most)

    def level(self) -> tuple[Floats, Floats]:
        """The family's own level on the hardware type, or else its model type's, and how much of it
        to take."""
        recall = self._recall
        if not recall.own and not recall.peers:
            nothing = np.zeros(len(self._here))
            return nothing, nothing
        here = np.where(self._here, self._weights[0], 0.0)
        level, weight = weighted_median(self._mine.level.astype(np.float64), here)
        share = recall.own * weight / (weight + recall.shrink)
        alone = ~self._here.any(axis=1)
        if recall.peers and alone.any():
            falls = self._falls(self._theirs, 1.0, recall.near)
            there = np.where(self._there, falls, 0.0)
            theirs, weight = weighted_median(self._theirs.level.astype(np.float64), there)
            level = np.where(alone, theirs, level)
            share = np.where(alone, recall.peers * weight / (weight + recall.shrink), share)
        return level, share

    def _same(self, cells: Cells) -> Booleans:
        """(n, m) whether a cell is of the job's hardware type."""
        same: Booleans = self._asked.hardware[:, None] == cells.hardware
        return same

    def _falls(self, cells: Cells, trust: float, distance: float) -> Floats:
        """(n, m) what a cell's votes weigh at its distance and age."""
        accelerators, samples = self._asked.size.T[:, :, None]
        apart = np.abs(accelerators - cells.size[:, 0]) + np.abs(samples - cells.size[:, 1])
        far = apart / distance
        age = np.maximum(self._asked.at[:, None] - cells.last, 0) / (DAY_US * self._recall.days)
        falls = np.exp(-np.where(np.isnan(far), 1.0, far) - age)
        weights: Floats = trust * np.minimum(cells.votes, MOST_VOTES) * falls
        return weights

    def what(self) -> NDArray[np.int8]:
        some = COLD if len(self._theirs.key) else UNFAMILIAR
        some = OWN_ELSEWHERE if self._here.shape[1] else some
        return np.where(self._here.any(axis=1), OWN_HERE, some).astype(np.int8)


def what_is_known(runs: Floats, known: Known | None) -> Ints:
    """(n,) places in `intervals.GROUPS`, whatever ran on the types: by what references say, or else
    by the earlier runs of each job's family."""
    if known is not None:
        return known.what.astype(np.int64)
    return np.where(runs == 0, COLD, OWN_ELSEWHERE)


def weighted_median(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(n,) medians of (m,) values by (n, m) weights, 0 where nothing weighs, and total weights."""
    total = weights.sum(axis=1)
    if not weights.shape[1]:
        return np.zeros(len(weights)), total
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[:, order], axis=1)
    at = np.argmax(below >= 0.5 * total[:, None], axis=1)
    return np.where(total > 0, values[order][at], 0.0), total


def _alike(family: Hashes, model_type: Hashes) -> list[Ints]:
    """The rows of each pair of family and model type."""
    if len(family) and np.all(family == family[0]) and np.all(model_type == model_type[0]):
        return [np.arange(len(family))]  # as those of a ranking are
    order = np.lexsort((model_type, family))
    change = (np.diff(family[order]) != 0) | (np.diff(model_type[order]) != 0)
    return np.split(order, np.flatnonzero(change) + 1) if len(order) else []


def asked_of(
    jobs: Jobs, families: Hashes, catalogue: Catalogue, hardware: tuple[str, ...]
) -> Asked:
    """n jobs in the terms of references over some hardware types."""
    places = {name: at for at, name in enumerate(hardware)}
    return Asked(
        families,
        family_hashes(jobs.model_type),
        jobs.hardware_type.recode(places, -1),
        sizes_of(jobs, catalogue),
        jobs.launched_at,
    )


def sizes_of(jobs: Jobs, catalogue: Catalogue) -> NDArray[np.float32]:
    """(n, 2) natural logs of accelerators and of samples a step, of the whole job, NaN where they
    are unknown or beyond what a number can hold."""
    with np.errstate(over="ignore"):
        accelerators = accelerators_of(jobs, Hardware(jobs, catalogue))
        sizes = [logarithm(accelerators), logarithm(jobs.batch_size * jobs.num_trainers)]
    logs = np.stack(sizes, axis=1).astype(np.float32)
    return np.where(np.isfinite(logs), logs, np.float32(np.nan))


def recall_of(document: Mapping[str, Any]) -> Recall:
    """Read constants back.

    Raises
    ------
    TypeError, ValueError
        They are malformed.
    """
    recall = Recall(**{name: float(value) for name, value in document.items()})
    values = np.array(list(recall.to_json().values()))
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("constants of recall must be finite and at least 0")
    if min(recall.shrink, recall.distance, recall.days, recall.near) <= 0:
        raise ValueError("shrink, distance, days and near of recall must be positive")
    return recall
