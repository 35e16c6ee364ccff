"""The w20 that no model can exceed: how often a repeat itself lies within ±20 % of the best guess.

Estimated from repeats alone (`repeats.py`). The log of a measurement is taken for the log of what
the job does there, which a model could know, plus noise, which none can:

- a group of repeats has one scale of noise, drawn from a mixture over `SCALES`;
- of a group at most one attempt is off by one of `SHIFTS` besides: stragglers, heavy tails.

A group's unknown location is integrated out under a flat prior, which is what corrects for small
groups: of n attempts only n − 1 differences speak of noise. Both mixtures are fitted by expectation
maximisation (Dempster, Laird and Rubin, 1977), as a nonparametric maximum likelihood over fixed
supports (Laird, 1978). Noise that all repeats of a group share is taken for location, so that the
estimate is too high where noise lasts for days.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from functions.retrain.dataset import Attempts
from functions.retrain.repeats import Repeats, repeats
from leap_model.columns import Floats, Ints, Labels

SCALES = np.geomspace(0.004, 0.5, 13)
"""Standard deviations of log throughput."""
_FAR = np.array([0.15, 0.25, 0.4, 0.6, 0.9, 1.4, 2.5])
SHIFTS = np.concatenate([[0.0], -_FAR, _FAR])
"""Of the log of one attempt of a group; the first is none."""
WIDTHS = np.concatenate([[0.0], *(2 * [[0.05, 0.07, 0.1, 0.15, 0.2, 0.4, 0.8]])])
"""How much shifts of one kind differ, in standard deviations."""

LEAST_GROUPS = 30
_ROUNDS = 300
_SETTLED = 1e-6
_OWN, _LIKE = 1.0, 10.0
"""Groups of its model type that a family's own are joined by, and of all for a model type's."""
_RESAMPLES, _RESAMPLED_ROUNDS = 30, 15
_LOWEST, _HIGHEST = -np.log(1.2), -np.log(0.8)
"""A prediction exp(c) times the location is within ±20 % of measured when the noise lies from
c + `_LOWEST` to c + `_HIGHEST`."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The best w20 of attempts, for all that is known of their noise.

    Column 0 of each array is the estimate, the others what `_RESAMPLES` resamples of families
    give instead. `by_family` (families, columns) is indexed by `families`, `by_model_type`
    likewise; `pooled` (columns,) is of whatever is in neither.
    """

    groups: int
    families: Mapping[str, int]
    by_family: Floats
    model_types: Mapping[str, int]
    by_model_type: Floats
    pooled: Floats

    def ceiling(self, attempts: Attempts) -> dict[str, Any] | None:
        """`w20`, the best share of some attempts that any model could predict within ±20 %, and
        `low` and `high`, the interval of 95 % that resampling families gives; None of none."""
        if not len(attempts):
            return None
        families, types = attempts.jobs.family, attempts.jobs.model_type
        own = _places(families, self.families)
        kind = _places(types, self.model_types)
        best = np.where(
            (own >= 0)[:, None],
            self.by_family[own],
            np.where((kind >= 0)[:, None], self.by_model_type[kind], self.pooled),
        )
        mean = best.mean(axis=0)
        low, high = np.quantile(mean[1:], (0.025, 0.975))
        return {"w20": float(mean[0]), "low": float(low), "high": float(high)}


def noise_of(attempts: Attempts) -> Noise | None:
    """What the repeats among measured attempts say; None where there are too few."""
    found = repeats(attempts)
    count = len(found.family)
    if count < LEAST_GROUPS:
        return None
    likelihood, sizes = _likelihood(found)
    families, family = np.unique(found.family, return_inverse=True)
    types, kind = np.unique(found.model_type, return_inverse=True)
    whole = np.ones(count)
    fit = _fitted(likelihood, sizes, whole, _START)
    columns = [_best(fit, likelihood, whole, family, kind)]
    draw = np.random.default_rng(0)
    for _ in range(_RESAMPLES):
        chosen = draw.integers(0, len(families), len(families))
        weights = np.bincount(chosen, minlength=len(families))[family].astype(np.float64)
        again = _fitted(likelihood, sizes, weights, fit, most=_RESAMPLED_ROUNDS)
        columns.append(_best(again, likelihood, weights, family, kind))
    by_family, by_type, pooled = (np.stack(part, axis=-1) for part in zip(*columns, strict=True))
    jobs = attempts.jobs
    return Noise(
        count,
        {jobs.family.values[code]: at for at, code in enumerate(families)},
        by_family,
        {jobs.model_type.values[code]: at for at, code in enumerate(types)},
        by_type,
        pooled,
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """Shares of `SCALES` among groups, and of `SHIFTS` among attempts."""

    scales: Floats
    shifts: Floats


_START = _Fit(
    np.full(len(SCALES), 1 / len(SCALES)),
    np.append(0.95, np.full(len(SHIFTS) - 1, 0.05 / (len(SHIFTS) - 1))),
)


def _likelihood(found: Repeats) -> tuple[Floats, Floats]:
    """(groups, scales, shifts) the likelihood of each group, up to a factor of its own, and
    (groups,) their sizes.

    Under a flat prior of the location, n normal values have a density in proportion to
    s^(1 − n) n^(−1/2) exp(−S / 2 s²), S their squared deviations from their mean. When one of them
    is shifted by t give or take w, that is the density of the other n − 1, and of it around
    their mean plus t, with variance s² + w² + s² / (n − 1).
    """
    count = len(found.family)
    sizes = np.bincount(found.group, minlength=count).astype(np.float64)
    mean = np.bincount(found.group, found.log_value, count) / sizes
    off = found.log_value - mean[found.group]
    squares = np.bincount(found.group, off**2, count)
    others = (sizes - 1)[found.group]
    apart = off * (others + 1) / others
    rest = np.maximum(squares[found.group] - off**2 * (others + 1) / others, 0.0)
    starts = np.searchsorted(found.group, np.arange(count))
    logs = np.empty((count, len(SCALES), len(SHIFTS)))
    for at, scale in enumerate(SCALES):
        spread = scale**2 * (1 + 1 / others[:, None]) + WIDTHS[1:] ** 2
        each = -((apart[:, None] - SHIFTS[1:]) ** 2) / (2 * spread) - 0.5 * np.log(spread)
        each += (-rest / (2 * scale**2) - (others - 1) * np.log(scale))[:, None]
        each -= 0.5 * np.log(others)[:, None]
        logs[:, at, 1:] = np.logaddexp.reduceat(each, starts, axis=0)
        logs[:, at, 0] = -squares / (2 * scale**2) - (sizes - 1) * np.log(scale)
    logs[:, :, 0] -= 0.5 * np.log(sizes)[:, None]
    return np.exp(logs - logs.max(axis=(1, 2), keepdims=True)), sizes


def _fitted(
    likelihood: Floats, sizes: Floats, weights: Floats, start: _Fit, most: int = _ROUNDS
) -> _Fit:
    """Expectation maximisation over weighted groups."""
    fit = start
    groups = len(likelihood)
    flat = likelihood.reshape(groups, -1)
    for _ in range(most):
        prior = np.outer(fit.scales, fit.shifts)
        evidence = flat @ prior.ravel()
        mass = prior * ((weights / evidence) @ flat).reshape(prior.shape)
        scales = mass.sum(axis=1) / weights.sum()
        shifts = mass.sum(axis=0) / (weights @ sizes)
        shifts[0] = 1 - shifts[1:].sum()
        moved = np.abs(scales - fit.scales).max() + np.abs(shifts - fit.shifts).max()
        fit = _Fit(scales, shifts)
        if moved < _SETTLED:
            break
    return fit


def _best(
    fit: _Fit, likelihood: Floats, weights: Floats, family: Ints, kind: Ints
) -> tuple[Floats, Floats, Floats]:
    """The best w20 of each family, of each model type, and of all."""
    hits = _hits(fit)
    scales = np.einsum("gkj,k,j->gk", likelihood, fit.scales, fit.shifts)
    scales /= scales.sum(axis=1, keepdims=True)
    own = weights * (scales @ hits)
    pooled = float(fit.scales @ hits)
    types = kind.max() + 1
    by_type = (np.bincount(kind, own, types) + _LIKE * pooled) / (
        np.bincount(kind, weights, types) + _LIKE
    )
    of_family = np.empty(family.max() + 1, np.int64)
    of_family[family] = kind
    by_family = (np.bincount(family, own) + _OWN * by_type[of_family]) / (
        np.bincount(family, weights) + _OWN
    )
    return by_family, by_type, np.asarray(pooled)


def _hits(fit: _Fit) -> Floats:
    """(scales,) the chance that noise lies within the band, for the best place of the band."""
    places = np.linspace(-0.15, 0.15, 61)
    upper = places[:, None, None] + _HIGHEST - SHIFTS
    lower = places[:, None, None] + _LOWEST - SHIFTS
    wide = np.hypot(SCALES[:, None], WIDTHS)
    inside = _normal(upper / wide) - _normal(lower / wide)
    best: Floats = (inside @ fit.shifts).max(axis=0)
    return best


def _normal(values: Floats) -> Floats:
    """The normal distribution function."""
    # Here, since naming a comparator must not cost what scipy takes to load.
    from scipy.special import ndtr  # type: ignore[import-untyped]

    return np.asarray(ndtr(values))


def _places(labels: Labels, known: Mapping[str, int]) -> Ints:
    """(n,) the index of each label, −1 for one that is not known."""
    return labels.recode(known, -1).astype(np.int64)
