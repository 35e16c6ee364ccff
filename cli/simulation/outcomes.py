"""What was measured when an attempt completed."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints

SECONDS_A_DAY = 86_400
_SHORTEST_S, _LONGEST_S, _MEDIAN_S = 600, 2 * SECONDS_A_DAY, 10_000
_STRAGGLERS, _MISSING, _ZERO = 0.02, 0.01, 0.005


@dataclass(frozen=True)
class Outcomes:
    """Measurements of attempts, (rows,).

    `completed_s` counts seconds from midnight UTC, in order; `throughput` is in samples per
    second, NaN where it was not reported; `utilization` is NaN where nothing ran; costs are
    US dollars.
    """

    completed_s: Ints
    duration_s: Ints
    throughput: Floats
    utilization: Floats
    cost_usd: Floats


def draw_outcomes(
    rng: np.random.Generator,
    *,
    expected: Floats,
    noise: Floats,
    busy: Floats,
    host_cost: Floats,
) -> Outcomes:
    """Measure attempts, all arguments (rows,).

    `expected` is the noise-free throughput, `noise` the standard deviation of its logarithm,
    `busy` the share of a step spent computing, `host_cost` the job's dollars an hour.
    """
    count = len(expected)
    straggling = rng.random(count) < _STRAGGLERS
    slowdown = np.where(straggling, rng.uniform(1.5, 4.0, count), 1.0)
    throughput = expected * np.exp(noise * rng.standard_normal(count)) / slowdown
    fate = rng.random(count)
    throughput[fate < _MISSING] = np.nan
    throughput[(fate >= _MISSING) & (fate < _MISSING + _ZERO)] = 0.0

    drawn = _MEDIAN_S * np.exp(1.1 * rng.standard_normal(count))
    duration = np.clip(drawn, _SHORTEST_S, _LONGEST_S).astype(np.int64)
    utilization = np.clip(busy / slowdown * rng.normal(1, 0.04, count), 0.0, 1.0)
    return Outcomes(
        completed_s=np.sort(rng.integers(0, SECONDS_A_DAY, count)),
        duration_s=duration,
        throughput=throughput,
        utilization=np.where(throughput > 0, utilization, np.nan),
        cost_usd=host_cost * duration / 3600,
    )
