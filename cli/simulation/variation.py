"""How the runs of one family differ: hosts, batch, readers and the size of the model."""

from dataclasses import replace

import numpy as np

from cli.simulation.arrays import Bools, Floats, rounded, rows, where
from cli.simulation.families import MOST_HOSTS
from cli.simulation.hardware import Hardware
from cli.simulation.physics import fits_memory
from cli.simulation.workload import Workload

_RESIZED = 0.8  # share of the runs of a sweeping family whose model is another size
_GROWING_SLOWER = 0.6  # activations grow with this power of the parameters
_BATCH_STEPS = 16  # a run's batch is a multiple of this part of the usual one


def vary(
    rng: np.random.Generator,
    usual: Workload,
    flexibility: Floats,
    sweep: Floats,
    hardware: Hardware,
    weights: Floats,
) -> tuple[Workload, Bools]:
    """The runs as launched, and the types that can hold them.

    Parameters
    ----------
    rng : Generator
    usual : Workload
        The usual run of each row's family, (rows,).
    flexibility, sweep : float array (rows,)
        Of the family, see `Families`.
    hardware : Hardware
        Types, (H,).
    weights : float array (rows, H)
        Positive where the family runs.

    Returns
    -------
    Workload, bool array (rows, H)
        A run that no type of its family would hold is launched as usual instead.
    """
    work = _resized(rng, _reshaped(rng, usual, flexibility), sweep)
    fits = fits_memory(work, hardware)
    homeless = np.asarray(~(fits & (weights > 0)).any(axis=1))
    work = where(homeless, usual, work)
    fits[homeless] = fits_memory(rows(usual, np.flatnonzero(homeless)), hardware)
    return work, fits


def _reshaped(rng: np.random.Generator, work: Workload, flexibility: Floats) -> Workload:
    """Some runs get other hosts, by what is free, and another batch, by what is tried."""
    count = len(flexibility)
    other_hosts, other_batch = rng.random((2, count)) < flexibility
    scale = np.where(other_hosts, 2.0 ** rng.uniform(-1, 1, count), 1.0)
    trainers = np.clip(np.round(work.trainers * scale), 1, MOST_HOSTS)
    steps = rng.integers(_BATCH_STEPS // 2, _BATCH_STEPS * 2, count)
    batch = np.maximum(1, np.floor(work.batch * steps / _BATCH_STEPS))
    # Readers follow the hosts, mostly.
    readers = work.readers * trainers / work.trainers
    readers *= np.where(rng.random(count) < 0.3 * flexibility, rng.choice([0.5, 2.0], count), 1.0)
    return replace(
        work,
        trainers=trainers,
        readers=np.maximum(1, np.round(readers)),
        batch=np.where(other_batch, batch, work.batch),
    )


def _resized(rng: np.random.Generator, work: Workload, sweep: Floats) -> Workload:
    """The runs of a sweep train a smaller or a larger model."""
    count = len(sweep)
    tried = rng.random(count) < _RESIZED
    size = np.where(tried, np.exp(sweep * rng.standard_normal(count)), 1.0)
    return replace(
        work,
        gmacs=rounded(work.gmacs * size),
        params_m=rounded(work.params_m * size),
        embedding_params_m=rounded(work.embedding_params_m * size),
        activations_m=rounded(work.activations_m * size**_GROWING_SLOWER),
    )
