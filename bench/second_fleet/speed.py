"""From a job to its examples per second on every type, noise-free: arrays of shape (rows, H)."""

from dataclasses import dataclass

import numpy as np

from bench.second_fleet.catalogue import Types
from bench.second_fleet.population import of_kind
from cli.simulation.arrays import Bools, Floats, Ints, column

_TILE = 8  # examples that an accelerator takes at once; a part costs as much as the whole
_TIGHT, _FULL = 0.8, 1.0  # of the memory: from the first on it pages, past the second it fails
_PAGING = 0.6
_SECONDS_A_STEP = {"base": 0.004, "a_host": 0.0006}
_BACKEND_SPEED = np.array([1.0, 1.12, 0.86])
# By the order of the vendors' names; inventions like the types.
_VENDOR_SPEED = np.array([0.62, 0.85, 0.7, 1.0, 0.55, 0.95, 0.8])


@dataclass(frozen=True)
class Jobs:
    """Jobs as launched, (rows,)."""

    kind: Ints
    weights_m: Floats
    gflops: Floats
    table_gb: Floats
    batch: Floats
    hosts: Floats
    workers: Floats
    half_width: Ints
    remat: Ints
    backend: Ints


def memory_share(jobs: Jobs, types: Types) -> Floats:
    """Memory needed over memory there is."""
    accelerators = column(jobs.hosts) * types.accelerators
    example = of_kind("kept_mb", jobs.kind) * np.where(jobs.remat, 0.4, 1.0) * 1e-3
    need = (
        1.0
        + column(jobs.weights_m * 0.014) / np.sqrt(types.accelerators)
        + column(jobs.table_gb) / accelerators
        + column(jobs.batch * example) / types.accelerators
    )
    return np.asarray(need / types.memory_gb)


def fits(jobs: Jobs, types: Types) -> Bools:
    """Whether a type can hold a job."""
    return np.asarray(memory_share(jobs, types) <= _FULL)


def examples_per_second(jobs: Jobs, types: Types, hidden: Floats) -> Floats:
    """Examples per second of the whole job; `hidden` (rows, H) is the log of what no one sees."""
    each = column(jobs.batch) / types.accelerators
    tiled = np.where(each >= _TILE, np.ceil(each / _TILE) * _TILE, np.ceil(each))
    filled = 1 - np.exp(-tiled / column(of_kind("saturating", jobs.kind)))
    work = jobs.gflops * np.where(jobs.remat, 1.3, 1.0)
    busy = column(work) * tiled / (_unit_speed(jobs, types) * 1e3 * filled)
    step = _SECONDS_A_STEP["base"] + column(_SECONDS_A_STEP["a_host"] * jobs.hosts) + busy
    paging = np.where(memory_share(jobs, types) > _TIGHT, _PAGING, 1.0)
    alone = column(jobs.batch) / step * np.exp(hidden) * paging
    demand = alone * _hosts_worth(jobs, types)
    return _delivered(jobs, demand)


def _unit_speed(jobs: Jobs, types: Types) -> Floats:
    """TFLOP/s: a weighted geometric mean of what peak and memory bandwidth allow."""
    weight = column(of_kind("computing", jobs.kind))
    peak = types.peak * np.where(jobs.half_width[:, None] == 1, 1.0, 0.4)
    vendor = _VENDOR_SPEED[types.vendor] ** (1.4 - weight)
    backend = column(_BACKEND_SPEED[jobs.backend]) ** np.where(types.year >= 2022, 1.5, 0.5)
    return np.asarray(0.3 * peak**weight * (types.bandwidth / 5) ** (1 - weight) * vendor * backend)


def _hosts_worth(jobs: Jobs, types: Types) -> Floats:
    """What n hosts are worth, by the universal scalability law: n / (1 + s(n-1) + k n(n-1))."""
    hosts = column(jobs.hosts)
    contention = 0.012 * column(np.log1p(jobs.weights_m)) / np.sqrt(types.network)
    tables = column(np.where(jobs.table_gb > 0, 1.0, 0.0))
    crosstalk = 0.0002 * tables * (20 / types.scale_up) ** 0.3
    return np.asarray(hosts / (1 + contention * (hosts - 1) + crosstalk * hosts * (hosts - 1)))


def _delivered(jobs: Jobs, demand: Floats) -> Floats:
    """What a queue of readers delivers of the demand; near its capacity it falls behind."""
    supply = column(jobs.hosts * jobs.workers * of_kind("worker_rate", jobs.kind))
    return np.asarray(supply * -np.expm1(-demand / supply))
