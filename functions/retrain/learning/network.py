"""A residual network, corrected by what it left of attempts that resemble the job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.conformal import intervals_of
from functions.retrain.learning.descent import Descent, Together, descend, initial
from functions.retrain.learning.digests import Data
from functions.retrain.learning.estimator import Fitted, Source, TrainingSet, scale_of
from functions.retrain.learning.memory import Memory, remembered
from functions.retrain.learning.recalling import choose, corrected, held_back, sampled
from functions.retrain.learning.threads import one_thread
from functions.retrain.learning.workers import Processes, workers
from functions.retrain.sources import columns_without
from functions.retrain.stages import Stages
from leap_model.columns import Floats, Ints, Matrix
from leap_model.features.schema import CategoryColumn, Schema, fit_schema
from leap_model.history import cutoffs, family_hashes, no_history
from leap_model.intervals import Intervals
from leap_model.model import Model, Strangers
from leap_model.network import MOST_ROWS, Network, Parameters, Shape, Singles, on_scale
from leap_model.references import COLUMNS, Asked, Recall, asked_of

MOST_CATEGORIES = 4_096
"""Named values of one column; trees bear no more than 254."""
LEAST_CATEGORY_ROWS = 5
_BATCHES = 20
"""An epoch has at least so many, however few the rows."""
_KNEES = (1e-30, 1e30)
"""Least and greatest knee of a number: 32 bits hold no others."""
TYPES = "job.model_type"
"""The column that strangers do without."""
_CONFIG = ("config.", "config_text.")
_LARGEST = 1e270
"""Numbers beyond it count as it: over the least knee they would be infinite."""


@dataclass(frozen=True, slots=True)
class Rows(Data):
    """n attempts as the network sees them. `scale` and `values` (n,) are logs."""

    source: Source
    schema: Schema
    matrix: Matrix
    scale: Floats
    values: Floats
    scale_column: int | None

    @property
    def has_types(self) -> bool:
        """Whether model types tell rows apart."""
        return TYPES in self.schema.names

    def strangers(self, networks: Sequence[Network]) -> Strangers | None:
        """The networks for model types that are not named in the schema; None without any."""
        if not networks:
            return None
        at = self.schema.names.index(TYPES)
        column = self.schema.columns[at]
        return Strangers(networks, at, len(getattr(column, "values", ())))

    def memory(self, said: Floats, recall: Recall) -> Memory:
        """What networks left of the rows, of which they said (n,)."""
        level = self.values - self.scale
        attempts = self.source.attempts
        rest = level - said
        parts = (attempts.jobs, attempts.completed_at, rest, level, self.source.catalogue)
        scale = None if self.scale_column is None else self.schema.names[self.scale_column]
        return remembered(*parts, recall, scale)


@dataclass(frozen=True, slots=True)
class ResidualNetwork:
    """Networks of blocks over all columns but history, and the rest of what resembles a job.

    Families have vectors while it learns, hidden from most rows, and none when it is asked:
    what is a family's own is then not mistaken for what its columns say, and comes from what the
    network left of the family's earlier attempts (references.py). How much of that to believe is
    measured on the last tenth of the attempts, by a network that did not see them.

    Attributes
    ----------
    members : int
        Networks that differ in where they start and in what is hidden when; their mean answers.
    epochs, least_steps, most_steps : float, int, int
        How often each row is learned from, within these steps.
    hide_family, hide_hardware, hide_model_type, hide_other : float
        Chances that a category is hidden from a row: unseen ones are then no surprise.
    hide_config : float
        Chance that all of a row's configuration is hidden: it often tells the type that a job was
        written for, and is asked about on others.
    scale : str
        What the networks predict the rest of, where the target has a scale at all. Trees do better
        after the peak alone; a network carries the mean of peak and memory over to new types.
    strangers : int
        Networks beside the members that never see a model type's name, and answer for types that
        training saw too rarely to name, or never.
    """

    name: str = "network"
    members: int = 3
    width: int = 128
    blocks: int = 3
    vector: int = 12
    epochs: float = 40.0
    least_steps: int = 800
    most_steps: int = 16_000
    batch: int = 512
    learning_rate: float = 0.004
    decay: float = 0.001
    vector_decay: float = 0.05
    dropout: float = 0.1
    hide_family: float = 0.7
    hide_hardware: float = 0.1
    hide_model_type: float = 0.05
    hide_other: float = 0.02
    hide_config: float = 0.3
    scale: str = "ratio.log_rate"
    strangers: int = 1

    @property
    def tried(self) -> "ResidualNetwork":
        """One network: a trial then takes half the time, and may find it a point worse."""
        return replace(self, members=1, strangers=0)

    def fit(self, training: TrainingSet, seed: int, processes: Processes = None) -> Fitted:
        with one_thread():
            return self._fit(training, seed, processes)

    def _fit(self, training: TrainingSet, seed: int, processes: Processes) -> Fitted:
        stages = Stages()
        rows = rows_of(training, self.scale)
        recalls = "history" not in rows.source.without
        back = held_back(rows.source.attempts.completed_at) & recalls
        with workers(len(training), processes, training.keeping) as pool, stages("fit"):
            every = np.ones(len(training), bool)
            asked = [(every, at) for at in range(self.members)] + [(~back, 0)] * bool(back.any())
            calls = [(fit_network, self, rows, kept, seed, member) for kept, member in asked]
            strangers_at = range(self.members, self.members + self.strangers * rows.has_types)
            more = [(fit_stranger, self, rows, seed, member) for member in strangers_at]
            fits = pool.run([*calls, *more])
            peak = pool.peak_mb
        networks, losses = zip(*fits[: self.members], strict=True)
        strangers = rows.strangers([network for network, _ in fits[len(calls) :]])
        every_network = (*networks, *(network for network, _ in fits[len(calls) :]))
        notes: dict[str, Any] = {
            "loss": float(np.mean(losses)),
            "parameters": sum(len(network.to_array()) for network in every_network),
        }
        schema, memory, intervals = rows.schema, None, None
        if recalls:
            recall = Recall()
            if back.any():
                with stages("recall"):
                    back_then = HeldBack.of(rows, fits[self.members][0], back)
                    recall, told = back_then.recall()
                    intervals = back_then.intervals(recall)
                notes |= told
            bare = Model.of_networks(networks, len(schema.columns), None, strangers=strangers)
            memory = rows.memory(bare.predict(rows.matrix), recall)
            schema = schema.with_numbers(COLUMNS)
            known = [schema.names.index(name) for name in COLUMNS]
            count = len(schema.columns)
            parts = (networks, count, rows.scale_column)
            model = Model.of_networks(*parts, known, recall.most, strangers)
            notes["recalled"] = recall.to_json()
        else:
            parts = (networks, len(schema.columns), rows.scale_column)
            model = Model.of_networks(*parts, strangers=strangers)
        notes |= {"processes": pool.count, "seconds": stages.seconds}
        return Fitted(model, notes, peak, schema, memory, intervals)

    def settings(self) -> Mapping[str, Any]:
        return asdict(self)

    def shape(self, rows: Rows) -> Shape:
        """The shape while it learns: the families are one category more, the last."""
        categorical = np.array(rows.schema.is_categorical(), bool)
        numbers = np.flatnonzero(~categorical)
        missing = np.isnan(rows.matrix[:, numbers])
        gaps = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
        codes = {at: _codes(rows.schema, at) for at in np.flatnonzero(categorical).tolist()}
        families = len(np.unique(rows.source.attempts.jobs.family.codes))
        categories = (*codes.items(), (rows.matrix.shape[1], families))
        sizes = (self.width, self.blocks, self.vector)
        return Shape(tuple(numbers.tolist()), tuple(gaps.tolist()), categories, *sizes)

    def hidden(self, schema: Schema) -> tuple[float, ...]:
        """The chance that each category is hidden, the families' last."""
        named = {
            "hardware.hardware_type": self.hide_hardware,
            TYPES: self.hide_model_type,
        }
        flags = zip(schema.names, schema.is_categorical(), strict=True)
        chances = [named.get(name, self.hide_other) for name, category in flags if category]
        return (*chances, self.hide_family)


def rows_of(training: TrainingSet, scale: str) -> Rows:
    """The training set without history, with every category that has a few rows, and after a scale
    where its own target has one.

    Raises
    ------
    ValueError
        The set does not say what it was made of.
    """
    source = training.source
    if source is None:
        raise ValueError("a network learns from attempts, not from a matrix alone")
    jobs = source.attempts.jobs
    left_out = source.without | {"history"}
    raw = columns_without(left_out, jobs, no_history(len(jobs)), source.catalogue)
    after = scale if training.scale is not None else None
    schema = fit_schema(raw, jobs, MOST_CATEGORIES, LEAST_CATEGORY_ROWS, after)
    matrix = schema.encode(raw, len(jobs))
    column = schema.names.index(scale) if after in schema.names else None
    sizes = scale_of(matrix, schema, after)
    return Rows(source, schema, matrix, sizes, training.values, column)


def fit_network(
    estimator: ResidualNetwork, rows: Rows, kept: NDArray[np.bool_], seed: int, member: int = 0
) -> tuple[Network, float]:
    """A network of some of the rows, without the families' vectors, and its loss."""
    shape = estimator.shape(rows)
    # By hash: codes count up in the order in which files name the families.
    hashes = family_hashes(rows.source.attempts.jobs.family)
    _, families = np.unique(hashes, return_inverse=True)
    chosen = np.flatnonzero(kept)
    values = (rows.values - rows.scale)[chosen]
    random = np.random.default_rng([seed, member])
    known = initial(shape, float(np.median(values)), random)
    known.update(_scales(rows.matrix, shape.numbers, chosen, rows.schema))
    learning = Network(shape, known)
    batch = min(estimator.batch, max(len(values) // _BATCHES, 1))
    steps = round(estimator.epochs * len(values) / batch)
    descent = Descent(
        steps=min(max(steps, estimator.least_steps), estimator.most_steps),
        batch=batch,
        rate=estimator.learning_rate,
        decay=estimator.decay,
        vector_decay=estimator.vector_decay,
        dropout=estimator.dropout,
        hidden=estimator.hidden(rows.schema),
        together=together(shape, rows.schema.names, estimator.hide_config),
    )
    numbers, places = _read(learning, rows.matrix, families, chosen)
    with one_thread():
        loss = descend(shape, known, numbers, places, values.astype(np.float32), descent, random)
    return without_category(learning, len(shape.categories) - 1), loss


def fit_stranger(
    estimator: ResidualNetwork, rows: Rows, seed: int, member: int
) -> tuple[Network, float]:
    """A network of all of the rows that knows no model types, and its loss."""
    nameless = replace(estimator, hide_model_type=1.0)
    every = np.ones(len(rows.values), bool)
    network, loss = fit_network(nameless, rows, every, seed, member)
    types = rows.schema.names.index(TYPES)
    at = [column for column, _ in network.shape.categories].index(types)
    return without_category(network, at), loss


def _read(
    network: Network, matrix: Matrix, families: Ints, rows: Ints
) -> tuple[tuple[Singles, Singles], NDArray[np.int32]]:
    """What the network reads of some rows of the matrix, and of a column of families beside it.

    A part at a time: only its 32 bits a number stay, of as many processes as there are fits.
    """
    shape = network.shape
    numbers = np.empty((len(rows), len(shape.numbers)), np.float32)
    gaps = np.empty((len(rows), len(shape.gaps)), np.float32)
    places = np.empty((len(rows), len(shape.categories)), np.int32)
    for start in range(0, len(rows), MOST_ROWS):
        part = slice(start, start + MOST_ROWS)
        mine = families[rows[part]].astype(np.float32)  # far fewer than it counts to
        some = np.column_stack([matrix[rows[part]], mine])
        numbers[part], gaps[part] = network.numbers(some)
        places[part] = network.places(some)
    return (numbers, gaps), places


def together(shape: Shape, names: Sequence[str], chance: float) -> Together:
    """The inputs that come from configuration."""

    def places(columns: Iterable[int]) -> tuple[int, ...]:
        # The families' column comes after those that have names.
        named = [names[at] if at < len(names) else "" for at in columns]
        return tuple(at for at, name in enumerate(named) if name.startswith(_CONFIG))

    gaps = places(shape.numbers[at] for at in shape.gaps)
    categories = places(column for column, _ in shape.categories)
    return Together(chance, places(shape.numbers), gaps, categories)


def without_category(network: Network, at: int) -> Network:
    """The network that answers as this one does where one of its categories is hidden."""
    shape, known = network.shape, dict(network.parameters)
    before, (_, codes) = shape.categories[:at], shape.categories[at]
    smaller = replace(shape, categories=(*before, *shape.categories[at + 1 :]))
    first = sum(codes + 1 for _, codes in before)
    hidden = known["vectors"][first]
    start = len(shape.numbers) + len(shape.gaps) + shape.vector * at
    inputs = slice(start, start + shape.vector)
    known["input.bias"] = known["input.bias"] + hidden @ known["input.weight"][inputs]
    known["level"] = known["level"] + hidden @ known["direct.weight"][inputs]
    known["input.weight"] = np.delete(known["input.weight"], inputs, axis=0)
    known["direct.weight"] = np.delete(known["direct.weight"], inputs)
    known["vectors"] = np.delete(known["vectors"], slice(first, first + codes + 1), axis=0)
    return Network(smaller, known)


def _scales(matrix: Matrix, columns: Sequence[int], rows: Ints, schema: Schema) -> Parameters:
    """Knee, center and spread of numbers, by some rows; logarithms stay as they are."""
    knee = np.zeros(len(columns), np.float32)
    center, spread = np.zeros_like(knee), np.ones_like(knee)
    for at, place in enumerate(columns):
        column = matrix[rows, place].reshape(-1, 1).astype(np.float64)
        column = column[~np.isnan(column[:, 0])]
        size = np.abs(column[column != 0])
        if not schema.names[place].startswith("ratio.log_") and len(size):
            knee[at] = np.clip(np.quantile(size, 0.01), *_KNEES)
        if len(column):
            near = np.clip(column, -_LARGEST, _LARGEST)
            scaled = on_scale(near, knee[at : at + 1])
            center[at], spread[at] = scaled.mean(), max(float(scaled.std()), 1e-6)
    return {"knee": knee, "center": center, "spread": spread}


def _codes(schema: Schema, at: int) -> int:
    column = schema.columns[at]
    return column.codes if isinstance(column, CategoryColumn) else 0


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Attempts of the last days beside a network that did not see them. Logs (n,)."""

    memory: Memory
    asked: Asked
    before: Ints
    said: Floats
    scale: Floats
    values: Floats

    @classmethod
    def of(cls, rows: Rows, network: Network, back: NDArray[np.bool_]) -> "HeldBack":
        """The rows held back, or a sample of them; the memory is of all, each by its own time."""
        said = network.score(rows.matrix)[:, 0]
        memory = rows.memory(said, Recall())
        kept = sampled(np.flatnonzero(back))
        jobs = rows.source.attempts.jobs.take(kept)
        asked = asked_of(jobs, family_hashes(jobs.family), rows.source.catalogue, memory.hardware)
        before = cutoffs(jobs.launched_at)
        said = said[kept] + rows.scale[kept]
        return cls(memory, asked, before, said, rows.scale[kept], rows.values[kept])

    def recall(self) -> tuple[Recall, dict[str, Any]]:
        """How much of what resembles a job to believe, and what that is worth."""
        parts = (self.memory, self.asked, self.before, self.said, self.scale, self.values)
        recall, alone, with_it = choose(*parts)
        told = {"held_back": len(self.said), "error_alone": alone, "error_with_recall": with_it}
        return recall, told

    def intervals(self, recall: Recall) -> Intervals | None:
        """How far off the network and its memory were."""
        known = replace(self.memory, recall=recall).recalled(self.asked, self.before)
        predicted = corrected(self.said, self.scale, known, recall.most)
        return intervals_of(self.values - predicted, predicted, known.what.astype(np.int64))
