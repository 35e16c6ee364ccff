"""The job families of the fleet: jobs that are launched again and again."""

from dataclasses import dataclass, replace

import numpy as np

from cli.simulation.arrays import Bools, Floats, Ints, log_normal, pick, rounded, rows
from cli.simulation.classes import CLASSES, LANGUAGE_MODEL, spread
from cli.simulation.hardware import Hardware
from cli.simulation.models import Models, evenly
from cli.simulation.physics import fits_memory, step_time
from cli.simulation.workload import BF16, FP8, FP16, FP32, Workload

MIN_FITTING_TYPES = 10
MOST_HOSTS = 256
_ZIPF, _FLAT = 0.9, 3.5  # popularity of the n-th family of a model type: (n + FLAT) ** -ZIPF
_SWEEPING = 0.2  # share of families that are experiments with the model's size
_BY_DEFAULT = 0.02  # share of families on the hosts and batch that their model type comes with
_KNOWN = "p4d.24xlarge"
_MOST_READERS = 256  # a host


@dataclass(frozen=True)
class Families:
    """Job families; every field has shape (F,).

    `model` is the row in `Models`; `popularity` the weight among the families of one model
    type; `born` and `retired` bound the days, counted from the first, on which it is launched;
    `flexibility` is the chance that a run changes hosts or batch; `sweep` the standard deviation
    of the log size of its runs' models, 0 for a family that trains one; `noise` the standard
    deviation of a run's log throughput.
    """

    model: Ints
    popularity: Floats
    born: Floats
    retired: Floats
    flexibility: Floats
    sweep: Floats
    noise: Floats


def count_families(days: int, per_day: int, model_types: int) -> int:
    """Families of a fleet: enough that most runs are repeats, and one in ten or so is not."""
    return max(model_types, int(per_day * (0.7 + 0.12 * days)))


def draw_families(rng: np.random.Generator, models: Models, count: int, days: int) -> Families:
    """Draw about `count` families, at least one a model type, alive at some time in the window."""
    each = np.maximum(1, np.floor(models.share * count)).astype(np.int64)
    model = np.repeat(np.arange(len(each)), each)
    position = np.arange(len(model)) - np.repeat(np.cumsum(each) - each, each)
    total = len(model)
    born = rng.uniform(-days, days, total)
    # Half are tried for a few days, half stay.
    life = rng.exponential(np.where(rng.random(total) < 0.5, 4.0, 2.0 * days)) + 1.0
    standing = (position == 0) | (rng.random(total) < 0.15)
    born = np.where(born + life > 0, born, -born)
    return Families(
        model=model,
        popularity=np.asarray((position + _FLAT) ** -_ZIPF, dtype=np.float64),
        born=np.where(standing, -1.0, born),
        retired=np.where(standing, np.inf, born + life),
        flexibility=rng.beta(1.1, 0.8, total),
        sweep=np.where(rng.random(total) < _SWEEPING, rng.uniform(0.1, 0.4, total), 0.0),
        noise=np.clip(rng.lognormal(np.log(0.06), 0.8, total), 0.012, 0.4),
    )


def draw_workloads(
    rng: np.random.Generator, models: Models, families: Families, hardware: Hardware
) -> Workload:
    """The usual run of every family, (F,), on as many hosts as it needs to fit somewhere."""
    of = rows(models, families.model)
    count = len(of.kind)
    variant = np.where(rng.random(count) < 0.2, rng.lognormal(0, 0.25, count), 1.0)
    tensor, pipeline = _model_parallel(rng, of.params_m * variant, of.kind)
    default = rng.random(count) < _BY_DEFAULT
    hosts = _launched_with(rng, "trainers", models.kind, families.model, default, step=1)
    batch = _launched_with(rng, "batch", models.kind, families.model, default, step=8)
    work = Workload(
        kind=of.kind,
        gmacs=rounded(of.gmacs * variant),
        params_m=rounded(of.params_m * variant),
        embedding_params_m=rounded(of.embedding_params_m * variant),
        activations_m=rounded(of.activations_m * variant**0.6),
        pooled_kb=np.asarray(of.tables * of.embedding_dim * 2e-3, dtype=np.float64),
        layers=of.layers.astype(np.float64),
        trainers=np.minimum(hosts, MOST_HOSTS),
        readers=np.ones(count),
        batch=batch,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        accumulation=np.where(
            (of.sequence > 0) & (rng.random(count) < 0.3), rng.choice([2.0, 4.0], count), 1.0
        ),
        checkpointing=rng.random(count) < np.where(of.activations_m > 20, 0.6, 0.05),
        compiled=rng.random(count) < 0.35,
        precision=_precision(rng, of.kind),
        reader_rate=log_normal(rng, *spread("reader_rate", of.kind)),
        software=np.ones(count),
    )
    return _with_readers(rng, _grow_until_fitting(work, hardware), hardware)


def _launched_with(
    rng: np.random.Generator,
    attribute: str,
    kinds: Ints,
    model: Ints,
    default: Bools,
    step: int,
) -> Floats:
    """Hosts or batch of every family (F,): the model type's, or the family's own."""
    usual = _round_numbers(rng, evenly(rng, attribute, kinds), step)[model]
    own = _round_numbers(rng, log_normal(rng, *spread(attribute, kinds[model])), step)
    return np.where(default, usual, own)


def _with_readers(rng: np.random.Generator, work: Workload, hardware: Hardware) -> Workload:
    """As many readers as owners found enough on the hardware they knew, give or take."""
    known = step_time(work, hardware, np.ones(len(work.kind))).device[:, hardware.index(_KNOWN)]
    wanted = work.batch / known / work.reader_rate * rng.lognormal(0.6, 0.5, len(known))
    return replace(work, readers=work.trainers * np.clip(np.round(wanted), 1, _MOST_READERS))


def _round_numbers(rng: np.random.Generator, wanted: Floats, step: int) -> Floats:
    """Near `wanted`: mostly powers of two, else multiples of `step`, and at least one step."""
    power = 2.0 ** np.round(np.log2(wanted))
    multiple = np.round(wanted / step) * step
    return np.maximum(step, np.where(rng.random(len(wanted)) < 0.7, power, multiple))


def _model_parallel(
    rng: np.random.Generator, params_m: Floats, kind: Ints
) -> tuple[Floats, Floats]:
    large = (kind == LANGUAGE_MODEL) & (params_m > 2500)
    tensor = np.where(large, rng.choice([2.0, 4.0, 4.0], len(kind)), 1.0)
    pipeline = np.where(large & (params_m > 8000), rng.choice([1.0, 2.0, 4.0], len(kind)), 1.0)
    return tensor, pipeline


def _precision(rng: np.random.Generator, kind: Ints) -> Ints:
    options = np.array([FP32, FP16, BF16, FP8])
    dense = options[pick(rng, (0.08, 0.2, 0.65, 0.07), len(kind))]
    sparse = options[pick(rng, (0.35, 0.25, 0.4, 0.0), len(kind))]
    has_tables = np.array([bool(entry.embedding_params_m) for entry in CLASSES])
    return np.where(has_tables[kind] & (kind != LANGUAGE_MODEL), sparse, dense)


def _grow_until_fitting(work: Workload, hardware: Hardware) -> Workload:
    """Double the hosts and halve the batch of jobs that too few types could hold."""
    for _ in range(12):
        # Even a run on half the hosts must fit.
        smallest = replace(work, trainers=np.maximum(1, work.trainers // 2))
        stuck: Bools = fits_memory(smallest, hardware).sum(axis=1) < MIN_FITTING_TYPES
        if not stuck.any():
            break
        work = replace(
            work,
            trainers=np.where(stuck, np.minimum(work.trainers * 2, MOST_HOSTS), work.trainers),
            batch=np.where(stuck, np.maximum(1, work.batch // 2), work.batch),
        )
    return work
