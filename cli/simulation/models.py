"""The model types of the fleet: how often each is trained, and its architecture."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from cli.simulation.arrays import Floats, Ints, log_normal, rounded
from cli.simulation.classes import CLASSES, LANGUAGE_MODEL, spread

# Popularity of the r-th most popular type, (r + OFFSET) ** -EXPONENT, fitted to the published
# shares of 660 types: the first 19 have 37 % of attempts, the first 100 78 %.
MODEL_TYPES = 660
_OFFSET = 34.76
_EXPONENT = 2.005

# Multiples of these fill [0, 1) evenly and independently of each other.
_NORMAL = NormalDist()
_STEPS = {
    "params_m": (5**0.5 - 1) / 2,
    "reuse": 2**0.5 - 1,
    "trainers": 3**0.5 - 1,
    "batch": 7**0.5 - 2,
}


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
    share = popularity(count)
    kind = _classes(rng, share)
    params_m = rounded(evenly(rng, "params_m", kind))
    layers = np.maximum(2, np.round(log_normal(rng, *spread("layers", kind)))).astype(np.int64)
    sequence = _sequence_lengths(rng, kind)
    reuse = evenly(rng, "reuse", kind) * np.maximum(sequence, 1)
    embedding = rounded(log_normal(rng, *spread("embedding_params_m", kind)))
    # A transformer block holds about 12 * hidden ** 2 parameters.
    hidden = np.sqrt(params_m * 1e6 / 12 / layers)
    sparse = (embedding > 0) & (kind != LANGUAGE_MODEL)
    return Models(
        share=share,
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


def _classes(rng: np.random.Generator, share: Floats) -> Ints:
    """The class of each type, by what its class still lacks of its share of the attempts.

    A random class for each would let one popular type decide how much of a fleet trains language
    models; so drawn, every fleet mixes the classes alike.
    """
    wanted = np.array([entry.share for entry in CLASSES])
    wanted /= wanted.sum()
    lacking = wanted * rng.uniform(-0.1, 0.1, len(wanted))
    lacking -= wanted * lacking.sum()
    kind = np.empty(len(share), dtype=np.int64)
    for position, attempts in enumerate(share.tolist()):
        lacking += wanted * attempts
        kind[position] = np.argmax(lacking)
        lacking[kind[position]] -= attempts
    return kind


def evenly(rng: np.random.Generator, attribute: str, kind: Ints) -> Floats:
    """Log-normal draws (M,) that fill the distribution of each class evenly from its most popular
    type on: a few types have much of the attempts, and their luck would be the whole fleet's."""
    median, sigma = spread(attribute, kind)
    start = rng.random(len(CLASSES))
    position = (start[kind] + _nth(kind) * _STEPS[attribute]) % 1.0
    normal = np.array([_NORMAL.inv_cdf(min(max(at, 1e-6), 1 - 1e-6)) for at in position.tolist()])
    return np.asarray(median * np.exp(sigma * normal), dtype=np.float64)


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
    start = rng.integers(0, 12, len(CLASSES))
    return np.asarray(table[kind, (start[kind] + _nth(kind)) % counts[kind]], dtype=np.int64)


def _nth(kind: Ints) -> Ints:
    """How many types (M,) of the same class are more popular."""
    nth = np.zeros(len(kind), dtype=np.int64)
    for klass in range(len(CLASSES)):
        of_class = kind == klass
        nth[of_class] = np.arange(of_class.sum())
    return nth


def _like(kind: Ints, median: float, sigma: float) -> tuple[Floats, Floats]:
    return np.full(kind.shape, median), np.full(kind.shape, sigma)
