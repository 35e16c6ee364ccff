"""How good the choices are that predictions lead to, by the noise-free truth.

A candidate's worth is its work per dollar: throughput ÷ dollars an hour of the whole job. What a
given job costs on it is one over that. The first choice is the candidate of greatest predicted
worth. Everything is counted over attempts that at least two types could host.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leap_model.columns import Floats, Ints


@dataclass(frozen=True, slots=True)
class Stakes:
    """What is at stake in the choices of n attempts, known to no method.

    Attributes
    ----------
    throughput : (n, types)
        Noise-free, NaN where the type cannot host the attempt.
    dollars_per_hour : (n, types)
        Of the whole job on each type, NaN where unknown.
    used : (n,)
        The column of the type that the attempt ran on, −1 where it is none of them.
    accelerator_hours, dollars : (n,)
        What the attempt took and cost there, NaN where unknown.
    cold : (n,) bool
        Whether its family never ran before.
    """

    throughput: Floats
    dollars_per_hour: Floats
    used: Ints
    accelerator_hours: Floats
    dollars: Floats
    cold: NDArray[np.bool_]

    def take(self, rows: NDArray[Any]) -> "Stakes":
        """The stakes of some attempts."""
        return Stakes(
            *(self.throughput[rows], self.dollars_per_hour[rows], self.used[rows]),
            *(self.accelerator_hours[rows], self.dollars[rows], self.cold[rows]),
        )


def decisions(stakes: Stakes, predicted: Floats) -> dict[str, Any]:
    """The figures of all attempts, and of new and known families apart.

    Parameters
    ----------
    stakes : Stakes
        Of n attempts.
    predicted : (n, types)
        Throughput, NaN where the method has no answer.
    """
    worth = stakes.throughput / stakes.dollars_per_hour
    some = np.flatnonzero(np.count_nonzero(~np.isnan(worth), axis=1) > 1)
    stakes, worth, predicted = stakes.take(some), worth[some], predicted[some]
    said = np.where(np.isnan(worth), np.nan, predicted / stakes.dollars_per_hour)
    return {
        **_figures(stakes, worth, said),
        **{
            name: _figures(stakes.take(rows), worth[rows], said[rows])
            for name, rows in (
                ("cold", np.flatnonzero(stakes.cold)),
                ("warm", np.flatnonzero(~stakes.cold)),
            )
        },
    }


def _figures(stakes: Stakes, worth: Floats, said: Floats) -> dict[str, Any]:
    """`attempts` that had a choice; `coverage`, the share of them for which the method knows at
    least two candidates, whose figures follow; `best_first`, the share whose first choice is the
    best; `regret`, the extra dollars of the first choice as a share of the best's, in the mean,
    and weighted by accelerator-hours; `pairwise`, the share of pairs of candidates, of unlike
    worth and both known, in the right order, ties counting half; `saving`, the dollars that the
    first choices save over what was used as a share of what the best would save."""
    chosen = np.flatnonzero(np.count_nonzero(~np.isnan(said), axis=1) > 1)
    share = len(chosen) / len(worth) if len(worth) else None
    stakes, worth, said = stakes.take(chosen), worth[chosen], said[chosen]
    rows = np.arange(len(worth))
    first = np.argmax(np.where(np.isnan(said), -np.inf, said), axis=1)
    best = np.nanmax(worth, axis=1, initial=0.0)
    regret = best / worth[rows, first] - 1
    return {
        "attempts": len(worth),
        "coverage": share,
        "best_first": _mean(worth[rows, first] == best),
        "regret": _mean(regret),
        "regret_by_gpu_hours": _weighted(regret, stakes.accelerator_hours),
        "pairwise": _pairwise(worth, said),
        "saving": _saving(stakes, worth, first, best),
    }


def _pairwise(worth: Floats, said: Floats) -> float | None:
    right = pairs = 0.0
    for column in range(worth.shape[1] - 1):
        true = np.sign(worth[:, [column]] - worth[:, column + 1 :])
        told = np.sign(said[:, [column]] - said[:, column + 1 :])
        known = ~np.isnan(true) & ~np.isnan(told) & (true != 0)
        pairs += float(known.sum())
        right += float((known & (true == told)).sum()) + 0.5 * float((known & (told == 0)).sum())
    return right / pairs if pairs else None


def _saving(stakes: Stakes, worth: Floats, first: Ints, best: Floats) -> float | None:
    rows = np.arange(len(worth))
    used = np.where(stakes.used >= 0, worth[rows, stakes.used], np.nan)
    known = ~np.isnan(used) & (stakes.dollars > 0)
    spent = stakes.dollars[known]
    possible = float((spent * (1 - (used / best)[known])).sum())
    realised = float((spent * (1 - (used / worth[rows, first])[known])).sum())
    return realised / possible if possible > 0 else None


def _mean(values: NDArray[Any]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _weighted(values: Floats, weights: Floats) -> float | None:
    known = weights > 0
    total = float(weights[known].sum())
    return float((values[known] * weights[known]).sum() / total) if total > 0 else None
