"""Which hardware types each family runs on."""

from dataclasses import replace

import numpy as np

from cli.simulation.arrays import Bools, Floats
from cli.simulation.hardware import Hardware
from cli.simulation.physics import fits_memory, step_time
from cli.simulation.workload import Workload

NEWCOMER = "mi355x-x8"  # delivered in the middle of the window

_MOST_TYPES = 5
_SKEW = 0.9  # a fleet has a few large pools: the n-th largest is n ** -SKEW of the largest
_SLOWEST = 16.0  # samples per second; nobody waits for less where there is something else
_NEWCOMER_USERS = 0.15  # share of families that also run there once it exists
_NEWCOMER_WEIGHT = 0.4


def draw_preferences(rng: np.random.Generator, work: Workload, hardware: Hardware) -> Floats:
    """Weight of every hardware type in the launches of every family.

    Parameters
    ----------
    rng : Generator
    work : Workload
        The usual run of every family, (F,).
    hardware : Hardware
        Types, (H,).

    Returns
    -------
    float array (F, H)
        Zero where the family never runs; every row has a positive weight besides `NEWCOMER`.
    """
    smallest = replace(work, trainers=np.maximum(1, work.trainers // 2))
    fits = fits_memory(smallest, hardware)
    new = hardware.index(NEWCOMER)
    capacity = rng.permutation(np.arange(1.0, len(hardware) + 1) ** -_SKEW)
    score = np.log(capacity) + rng.gumbel(0, 1, fits.shape)
    score[~_worth_it(work, hardware, fits, new)] = -np.inf

    best = np.argsort(-score, axis=1)[:, :_MOST_TYPES]
    shown = np.arange(_MOST_TYPES) < rng.integers(1, _MOST_TYPES + 1, len(fits))[:, None]
    steepness = rng.uniform(0.4, 1.0, (len(fits), 1))
    weight = steepness ** np.arange(_MOST_TYPES) * shown
    preferences = np.zeros(fits.shape)
    np.put_along_axis(preferences, best, weight, axis=1)
    preferences[np.isneginf(score)] = 0.0
    users = fits[:, new] & (rng.random(len(fits)) < _NEWCOMER_USERS)
    preferences[users, new] = _NEWCOMER_WEIGHT
    return preferences


def _worth_it(work: Workload, hardware: Hardware, fits: Bools, new: int) -> Bools:
    """Where each family (F,) would go, (F, H): where it fits and is not unbearably slow."""
    steady = fits.copy()
    steady[:, new] = False
    step = step_time(work, hardware, np.ones(len(work.kind))).device
    bearable = steady & ((work.trainers * work.batch)[:, None] / step >= _SLOWEST)
    return np.where(bearable.any(axis=1, keepdims=True), bearable, steady)
