"""How much a model leans on its columns: w20 lost when their values are dealt to other attempts.

Permutation importance (Breiman, Random Forests, 2001) on attempts that the model never saw. It
tells what this model reads, not what causes throughput: of two columns that say the same, either
may seem worthless while their group does not.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functions.retrain.judged import Judged
from functions.retrain.training import Trained
from leap_model.catalogue import Catalogue
from leap_model.columns import Ints, Matrix
from leap_model.features import raw_columns
from leap_model.features.schema import SCALES

MOST_ATTEMPTS = 2_000
BUDGET_S = 5.0
"""Columns whose turn has not come by then are left out. Groups come first, then the columns of the
group that loses the most."""

_GROUPS = {
    "job": "scale",
    "history": "history",
    "known": "history",
    "ratio": "ratios",
    "architecture": "architecture",
    "config": "config",
    "config_text": "config",
    "allocation": "allocation",
    "allocation_text": "allocation",
    "hardware": "hardware",
}


def importance(
    trained: Trained,
    judged: Judged,
    catalogue: Catalogue,
    seed: int,
    budget_s: float = BUDGET_S,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Any] | None:
    """w20 lost by group of columns and by column; None of fewer than two attempts.

    Parameters
    ----------
    trained, judged, catalogue : Trained, Judged, Catalogue
        The model, the attempts that judge it, and what it knows of hardware.
    seed : int
        Chooses the attempts, where there are more than `MOST_ATTEMPTS`, and deals their values:
        the same permutation for each column and group.
    budget_s : float
        Seconds of `clock` after which no further column is permuted.
    clock : callable
        Seconds of processor time, so that a busy machine makes no difference.

    Returns
    -------
    dict
        `attempts`, `w20` (of them), `groups` and `columns`, each the share of attempts lost by
        name (negative where w20 grew), and `left_out`, columns that the budget had no time for.
    """
    if len(judged.attempts) < 2:
        return None
    draw = np.random.default_rng(seed)
    rows = _sample(draw, len(judged.attempts))
    dealt = draw.permutation(len(rows))
    measured = judged.attempts.measured[rows]
    jobs, history = judged.attempts.jobs.take(rows), judged.history.take(rows)
    raw = raw_columns(jobs, history, catalogue)
    if judged.known is not None:
        raw.update(judged.known.take(rows).columns())
    matrix = trained.schema.encode(raw, len(rows))
    started = clock()

    def within(values: Matrix) -> float:
        predicted = trained.target.of_log(trained.fitted.model.predict(values))
        return float(np.mean(np.abs(predicted / measured - 1) <= 0.20))

    def lost(columns: Sequence[int]) -> float:
        permuted = matrix.copy(order="K")
        permuted[:, columns] = matrix[dealt][:, columns]
        return base - within(permuted)

    base = within(matrix)
    names = trained.schema.names
    members: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        members.setdefault(group_of(name), []).append(at)
    groups = {name: lost(columns) for name, columns in sorted(members.items())}
    columns: dict[str, float] = {}
    for at in sorted(range(len(names)), key=lambda at: -groups[group_of(names[at])]):
        if clock() - started >= budget_s:
            break
        columns[names[at]] = lost([at])
    return {
        "attempts": len(rows),
        "w20": base,
        "groups": groups,
        "columns": columns,
        "left_out": len(names) - len(columns),
    }


def group_of(column: str) -> str:
    """The group that a column is permuted with.

    The job's size and the peak of what it asks for are its scale; its model type is a group of
    its own, since it is a name and no size.
    """
    if column == "job.model_type":
        return "model type"
    return "scale" if column in SCALES else _GROUPS[column.partition(".")[0]]


def _sample(draw: np.random.Generator, count: int) -> Ints:
    if count <= MOST_ATTEMPTS:
        return np.arange(count)
    return np.sort(draw.choice(count, MOST_ATTEMPTS, replace=False))
