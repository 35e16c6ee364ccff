"""Model types and job families of the second fleet."""

from dataclasses import dataclass

import numpy as np

from bench.second_fleet.catalogue import NEWCOMER, Types
from cli.simulation.arrays import Floats, Ints

MOST_MODEL_TYPES = 660
# Weight of the r-th model type, exp(-(r / SCALE) ** POWER): the first 19 of 660 have 37 % of the
# attempts and the first 100 have 78 %.
_SCALE, _POWER = 7.04, 0.44
_CHOICES = 7
_ALIKE = 0.8


@dataclass(frozen=True)
class Kind:
    """A kind of training job. Pairs are a median and a standard deviation of the logarithm."""

    name: str
    share: float
    weights_m: tuple[float, float]
    gflops: tuple[float, float]  # an example, forward and backward
    table_gb: tuple[float, float]
    batch: tuple[float, float]
    hosts: tuple[float, float]
    worker_rate: float  # examples a second of one loader worker
    computing: float  # 1: speed follows the peak alone; 0: the memory bandwidth alone
    saturating: float  # batch of an accelerator at which 63 % of its speed are reached
    kept_mb: float  # memory of one example of the batch


# fmt: off
KINDS = (
    Kind(
        "tabular", 0.575, weights_m=(60, 0.6), gflops=(0.9, 0.85), table_gb=(60, 0.9),
        batch=(3000, 0.75), hosts=(3, 0.85), worker_rate=1500,
        computing=0.35, saturating=90, kept_mb=0.4),
    Kind(
        "graph", 0.20, weights_m=(25, 0.7), gflops=(1.4, 0.85), table_gb=(40, 0.8),
        batch=(2500, 0.75), hosts=(3, 0.8), worker_rate=900,
        computing=0.15, saturating=60, kept_mb=0.7),
    Kind(
        "picture", 0.11, weights_m=(45, 0.7), gflops=(6, 0.7), table_gb=(0, 0.0),
        batch=(1000, 0.6), hosts=(3, 0.7), worker_rate=450,
        computing=0.7, saturating=10, kept_mb=20),
    Kind(
        "sound", 0.06, weights_m=(120, 0.6), gflops=(60, 0.8), table_gb=(0, 0.0),
        batch=(256, 0.6), hosts=(3, 0.7), worker_rate=160,
        computing=0.65, saturating=5, kept_mb=40),
    Kind(
        "text", 0.055, weights_m=(900, 0.9), gflops=(2500, 1.1), table_gb=(0, 0.0),
        batch=(64, 0.7), hosts=(5, 0.7), worker_rate=80,
        computing=0.85, saturating=1, kept_mb=300),
)
# fmt: on


@dataclass(frozen=True)
class Population:
    """Families, every array with F rows but `share` and `model_kind`, which have a row a
    model type.

    `model` is the rank of the family's model type; `appetite` its weight among the families
    of that type alive, from day `born` until before `ends`; `restless` the chance of a run of
    another shape; `stretch` the spread of the size of its runs' models; `workers` loader
    processes of a host; `grain` the log factor of its speed, and `by_vendor` (F, V) what a vendor
    adds to it; `habit` (F, H) the weights of the hardware types; `unsteady` the scale of its
    noise. On `newcomer_day` the newest type is delivered.
    """

    model: Ints
    model_kind: Ints
    kind: Ints
    appetite: Floats
    share: Floats
    born: Floats
    ends: Floats
    weights_m: Floats
    gflops: Floats
    table_gb: Floats
    batch: Floats
    hosts: Floats
    workers: Floats
    half_width: Ints
    remat: Ints
    backend: Ints
    restless: Floats
    stretch: Floats
    grain: Floats
    by_vendor: Floats
    habit: Floats
    unsteady: Floats
    newcomer_day: int


def of_kind(attribute: str, kind: Ints) -> Floats:
    """The number `attribute` of each row's kind."""
    return np.array([getattr(entry, attribute) for entry in KINDS], np.float64)[kind]


def draw_population(rng: np.random.Generator, types: Types, days: int, per_day: int) -> Population:
    """Draw everything that lasts; families arrive and end through the whole window."""
    count = min(MOST_MODEL_TYPES, max(12, per_day // 4))
    share = np.exp(-((np.arange(1, count + 1) / _SCALE) ** _POWER))
    share /= share.sum()
    model_kind = _kinds(rng, share)
    total = max(count, int(per_day * (0.5 + 0.1 * days)))
    # One family a model type at least, the rest by the share.
    model = np.sort(np.concatenate([np.arange(count), rng.choice(count, total - count, p=share)]))
    kind = model_kind[model]
    first = np.append(True, np.diff(model) > 0)
    born = np.where(first, -1.0, rng.uniform(-0.7 * days, days, total))
    appetite = rng.pareto(1.8, total) + 0.3
    flavour = np.exp(rng.laplace(0, 0.15, total))
    return Population(
        model=model,
        model_kind=model_kind,
        kind=kind,
        appetite=appetite,
        share=share,
        born=born,
        ends=np.where(first, np.inf, born + rng.weibull(0.7, total) * days),
        weights_m=np.round(_spread(rng, "weights_m", model_kind)[model] * flavour, 1),
        gflops=np.round(_spread(rng, "gflops", model_kind)[model] * flavour, 3),
        table_gb=np.round(_spread(rng, "table_gb", model_kind)[model] * flavour, 1),
        batch=np.maximum(4, np.round(_often_alike(rng, "batch", model_kind, model) / 4) * 4),
        hosts=np.maximum(1, np.round(_often_alike(rng, "hosts", model_kind, model))),
        workers=np.maximum(2, np.round(np.exp(rng.normal(3.6, 0.6, total)))),
        half_width=(rng.random(total) < 0.75).astype(np.int64),
        remat=(rng.random(total) < 0.2).astype(np.int64),
        backend=rng.choice(3, total, p=(0.6, 0.3, 0.1)),
        restless=rng.beta(0.7, 0.6, total),
        stretch=np.where(rng.random(total) < 0.35, rng.uniform(0.1, 0.5, total), 0.0),
        grain=rng.laplace(0, 0.13, total),
        by_vendor=rng.laplace(0, 0.07, (total, int(types.vendor.max()) + 1)),
        habit=_habits(rng, total, types),
        unsteady=np.clip(rng.gamma(1.2, 0.05, total), 0.008, 0.3),
        newcomer_day=days // 2,
    )


def _kinds(rng: np.random.Generator, share: Floats) -> Ints:
    """A kind for every model type, such that each kind gets its share of the attempts."""
    edges = np.cumsum([kind.share for kind in KINDS])
    order = np.argsort(rng.random(len(share)) * share**0.5)
    middle = np.empty(len(share))
    middle[order] = np.cumsum(share[order]) - share[order] / 2
    return np.minimum(np.searchsorted(edges, middle), len(KINDS) - 1).astype(np.int64)


def _spread(rng: np.random.Generator, attribute: str, kind: Ints) -> Floats:
    table = np.array([getattr(entry, attribute) for entry in KINDS], np.float64)
    median, sigma = table[kind].T
    return np.asarray(median * np.exp(sigma * rng.standard_normal(len(kind))))


def _often_alike(rng: np.random.Generator, attribute: str, model_kind: Ints, model: Ints) -> Floats:
    """Of every family (F,): its model type's value for some, the others' their own."""
    alike = rng.random(len(model)) < _ALIKE
    return np.where(
        alike,
        _spread(rng, attribute, model_kind)[model],
        _spread(rng, attribute, model_kind[model]),
    )


def _habits(rng: np.random.Generator, count: int, types: Types) -> Floats:
    """Few types for most families, in weights that fall off hyperbolically."""
    liking = rng.random((count, len(types)))
    place = liking.argsort(axis=1).argsort(axis=1)
    most = rng.integers(2, _CHOICES + 1, (count, 1))
    habit = np.where(place < most, 1.0 / (1.0 + place), 0.0)
    habit[:, types.names.index(NEWCOMER)] *= 0.5
    return np.asarray(habit)
