"""The attempts of one day of the second fleet."""

from dataclasses import dataclass, replace

import numpy as np

from bench.second_fleet.catalogue import NEWCOMER, Types
from bench.second_fleet.noise import Conditions, draw_noise
from bench.second_fleet.population import Population
from bench.second_fleet.speed import Jobs, examples_per_second, fits
from cli.simulation.arrays import Bools, Floats, Ints, pick, pick_rows, rounded, where

CLUSTERS = ("north", "south", "harbour")
_CLUSTER_SPEED = np.array([0.0, -0.05, 0.03])  # log; the launcher says which, so no noise
_SEASON = 0.06  # log: readers share the disks with others, in a cycle of seven days
_CHOICE, _GROWTHS = 4, 10  # types that must hold a job; how often its hosts are doubled
_LOST, _IDLE = 0.012, 0.004


@dataclass(frozen=True)
class Day:
    """Attempts, (rows,), in order of completion; `truth` (rows, H) is NaN where they do not fit,
    `throughput` NaN where it was not reported."""

    family: Ints
    jobs: Jobs
    type_: Ints
    cluster: Ints
    spot: Ints
    truth: Floats
    throughput: Floats
    completed_s: Ints
    duration_s: Ints


def draw_day(
    rng: np.random.Generator,
    population: Population,
    types: Types,
    today: Conditions,
    number: int,
    count: int,
) -> Day:
    """Draw the `count` attempts that complete on day `number`."""
    family = _families(rng, population, number, count)
    habit = population.habit[family]
    jobs, possible = _launched(rng, population, family, types)
    # What no type of its habit can hold goes wherever there is room.
    there = np.ones(len(types), dtype=bool)
    there[types.names.index(NEWCOMER)] = number >= population.newcomer_day
    at_home = np.where(possible & there, habit, 0.0)
    anywhere = np.where(possible & there, 1.0, 0.0)
    wanted = np.where((at_home > 0).any(axis=1, keepdims=True), at_home, anywhere)
    type_ = pick_rows(rng, wanted)
    cluster = pick(rng, (0.5, 0.3, 0.2), count)
    season = _SEASON * np.sin(2 * np.pi * number / 7)
    hidden = population.grain[family, None] + population.by_vendor[family][:, types.vendor] + season
    truth = examples_per_second(jobs, types, hidden + _CLUSTER_SPEED[cluster][:, None])
    truth[~possible] = np.nan
    noise = draw_noise(rng, today, family, type_, population.unsteady[family])
    throughput = truth[np.arange(count), type_] * np.exp(noise)
    fate = rng.random(count)
    throughput[fate < _LOST] = np.nan
    throughput[fate > 1 - _IDLE] = 0.0
    return Day(
        family=family,
        jobs=jobs,
        type_=type_,
        cluster=cluster,
        spot=(rng.random(count) < 0.3).astype(np.int64),
        truth=truth,
        throughput=throughput,
        completed_s=np.sort(rng.integers(0, 86_400, count)),
        duration_s=(900 + rng.gamma(0.8, 12_000, count)).astype(np.int64),
    )


def _families(rng: np.random.Generator, population: Population, number: int, count: int) -> Ints:
    """Model types by their share, among the families of one by appetite."""
    alive = (population.born <= number) & (number < population.ends)
    weight = population.appetite * alive
    share = population.share / np.bincount(population.model, weight)
    return pick(rng, (weight * share[population.model]).tolist(), count)


def _launched(
    rng: np.random.Generator, population: Population, family: Ints, types: Types
) -> tuple[Jobs, Bools]:
    """The runs as launched, and the types that hold them: what nothing holds gets more hosts."""
    usual = Jobs(
        **{
            name: getattr(population, name)[family]
            for name in Jobs.__dataclass_fields__  # each is a column of the population
        }
    )
    count = len(family)
    restless = rng.random(count) < population.restless[family]
    size = np.exp(population.stretch[family] * rng.laplace(0, 0.7, count))
    jobs = replace(
        usual,
        weights_m=rounded(usual.weights_m * size),
        gflops=rounded(usual.gflops * size),
        table_gb=rounded(usual.table_gb * size),
        hosts=np.where(restless, np.ceil(usual.hosts * rng.uniform(0.4, 2.2, count)), usual.hosts),
        batch=np.where(
            restless, np.ceil(usual.batch * rng.triangular(0.4, 1, 1.6, count)), usual.batch
        ),
    )
    for _ in range(_GROWTHS):
        possible = fits(jobs, types)
        tight = possible.sum(axis=1) < _CHOICE
        if not tight.any():
            break
        larger = replace(jobs, hosts=jobs.hosts * 2, batch=np.ceil(jobs.batch / 2))
        jobs = where(tight, larger, jobs)
    else:
        possible = fits(jobs, types)
    return jobs, possible
