"""Attempts of the second fleet as its launcher reports them."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.second_fleet.catalogue import Types
from bench.second_fleet.launches import CLUSTERS, Day
from bench.second_fleet.population import KINDS, Population

_BIRDS = (
    *("avocet", "bittern", "curlew", "dunlin", "egret", "fulmar", "godwit", "heron", "ibis"),
    *("jackdaw", "kestrel", "lapwing", "merlin", "nightjar", "oriole", "petrel", "quail", "raven"),
    *("siskin", "tern", "vireo", "wigeon", "yaffle"),
)
_TEAMS = ("atlas", "basalt", "cobalt", "delta", "ember", "fjord", "gneiss", "haze")
_BACKENDS = ("eager", "graph", "legacy")
_OPTIMISERS = ("lion", "adagrad", "adamw")


def model_type_name(rank: int, kind: int) -> str:
    """Name of the model type of this rank."""
    return f"{_BIRDS[rank % len(_BIRDS)].title()}{KINDS[kind].name.title()}{rank // len(_BIRDS)}"


def family_name(family: int, model: str) -> str:
    """The part of a job name that stays."""
    team = _TEAMS[family * 5 % len(_TEAMS)]
    return f"{team}::{model}::{_BIRDS[family % len(_BIRDS)]}-x{family}k"


def attempts_of(
    rng: np.random.Generator, population: Population, types: Types, day: Day, date: dt.date
) -> list[dict[str, Any]]:
    """The attempts of one day, in order of completion."""
    seeds = rng.integers(0, 2**48, len(day.family)).tolist()
    return list(_attempts(population, types, day, date, seeds))


def _attempts(
    population: Population, types: Types, day: Day, date: dt.date, seeds: list[int]
) -> Iterator[dict[str, Any]]:
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC)
    jobs = day.jobs
    for row, family in enumerate(day.family.tolist()):
        rank = int(population.model[family])
        model = model_type_name(rank, int(population.model_kind[rank]))
        name = family_name(family, model)
        completed = midnight + dt.timedelta(seconds=int(day.completed_s[row]))
        duration, type_ = int(day.duration_s[row]), int(day.type_[row])
        launched = completed - dt.timedelta(seconds=duration)
        hosts, throughput = int(jobs.hosts[row]), float(day.throughput[row])
        record: dict[str, Any] = {
            "attempt_id": f"sf-{date:%y%j}-{row}-{seeds[row]:012x}",
            "job_name": f"{name}@{launched:%Y-%m-%dT%H:%M:%S}",
            "model_type": model,
            "hardware_type": types.names[type_],
            "num_trainers": hosts,
            "batch_size": int(jobs.batch[row]),
            "completed_at": f"{completed:%Y-%m-%dT%H:%M:%SZ}",
            "duration_s": duration,
            "cost_usd": round(float(types.cost_per_hour[type_]) * hosts * duration / 3600, 2),
            "throughput": None if np.isnan(throughput) else round(throughput, 4),
            "config": {
                "dtype": "half" if jobs.half_width[row] else "single",
                "rematerialise": bool(jobs.remat[row]),
                "backend": _BACKENDS[int(jobs.backend[row])],
                "loader_workers": int(jobs.workers[row]),
                "optim": _OPTIMISERS[family % 3],
                "tag": f"t{family % 17}",
            },
            "allocation": {"cluster": CLUSTERS[int(day.cluster[row])], "spot": bool(day.spot[row])},
            "architecture": {
                "weights_millions": float(jobs.weights_m[row]),
                "gflops_per_example": float(jobs.gflops[row]),
                "table_gb": float(jobs.table_gb[row]),
            },
        }
        if family % 4 == 0:
            record["job_family"] = name
        yield record
