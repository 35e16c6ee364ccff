"""The model types of the fleet: how often each is trained, and its architecture."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints, log_normal, rounded
from cli.simulation.classes import CLASSES, LANGUAGE_MODEL, spread

# Popularity of the r-th most popular type, (r + OFFSET) ** -EXPONENT, fitted to the published
# shares of 660 types: the first 19 have 37 % of attempts, the first 100 78 %.
MODEL_TYPES = 660
_OFFSET = 34.76
_EXPONENT = 2.005

# Multiples of this fill [0, 1) evenly, so the popular types of every fleet mix the classes alike.
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Models:
    """Model types, most popular first; every field has shape (M,).

    `share` is the share of attempts; `kind` indexes `CLASSES`; `gmacs` counts billions of
    multiply-accumulates of one sample's forward pass; `sequence`, `hidden`,
    `embedding_params_m`, `tables` and `embedding_dim` are 0 where the class has none.
    """

    share: Floats
    kind: Ints
    params_m: Floats
    gmacs: Floats
    activations_m: Floats
    layers: Ints
    sequence: Ints
    hidden: Ints
    embedding_params_m: Floats
    tables: Ints
    embedding_dim: Ints


def count_model_types(per_day: int) -> int:
    """Model types in a fleet of `per_day` attempts a day: 660, fewer in a small one."""
    return min(MODEL_TYPES, max(12, per_day // 4))


def popularity(count: int) -> Floats:
    """Share of attempts of each of `count` model types, most popular first; sums to 1."""
    weight = (np.arange(1, count + 1) + _OFFSET) ** -_EXPONENT
    return np.asarray(weight / weight.sum())


def draw_models(rng: np.random.Generator, count: int) -> Models:
    """Draw `count` model types."""
    edges = np.cumsum([entry.share for entry in CLASSES])
    position = (np.arange(count) * _GOLDEN + rng.random()) % 1.0 * edges[-1]
    kind = np.searchsorted(edges[:-1], position, side="right").astype(np.int64)

    params_m = rounded(log_normal(rng, *spread("params_m", kind)))
    layers = np.maximum(2, np.round(log_normal(rng, *spread("layers", kind)))).astype(np.int64)
    sequence = _sequence_lengths(rng, kind)
    reuse = log_normal(rng, *spread("reuse", kind)) * np.maximum(sequence, 1)
    embedding = rounded(log_normal(rng, *spread("embedding_params_m", kind)))
    # A transformer block holds about 12 * hidden ** 2 parameters.
    hidden = np.sqrt(params_m * 1e6 / 12 / layers)
    sparse = (embedding > 0) & (kind != LANGUAGE_MODEL)
    return Models(
        share=popularity(count),
        kind=kind,
        params_m=params_m,
        gmacs=rounded(params_m * reuse / 1e3),
        activations_m=rounded(_activations(rng, kind, params_m, sequence)),
        layers=layers,
        sequence=sequence,
        hidden=np.where(sequence > 0, np.maximum(1, np.round(hidden / 64)) * 64, 0).astype(int),
        embedding_params_m=embedding,
        tables=np.where(sparse, np.round(log_normal(rng, *_like(kind, 220.0, 0.8))), 0).astype(int),
        embedding_dim=np.where(sparse, rng.choice([64, 96, 128, 192, 256], count), 0),
    )


def _activations(rng: np.random.Generator, kind: Ints, params_m: Floats, sequence: Ints) -> Floats:
    """Larger models and longer sequences keep more; the class says how much at its median."""
    typical = [np.median(entry.sequence) if entry.sequence else 1.0 for entry in CLASSES]
    size = (params_m / spread("params_m", kind)[0]) ** 0.6
    length = np.maximum(sequence, 1) / np.array(typical)[kind]
    return np.asarray(log_normal(rng, *spread("activations_m", kind)) * size * length)


def _sequence_lengths(rng: np.random.Generator, kind: Ints) -> Ints:
    choices = [entry.sequence or (0,) for entry in CLASSES]
    table = np.array([(options * 4)[:4] for options in choices])
    counts = np.array([len(options) for options in choices])
    return np.asarray(table[kind, rng.integers(0, counts[kind])], dtype=np.int64)


def _like(kind: Ints, median: float, sigma: float) -> tuple[Floats, Floats]:
    return np.full(kind.shape, median), np.full(kind.shape, sigma)
