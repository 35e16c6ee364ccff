"""What is lost on what training never saw: a hardware type, or a family of models, held out.

Each group of training rows is left out in turn, history included, and so are as many rows drawn at
random from all: the attempts of the group are then predicted by a model of all rows, by one without
the group, and by one without the random rows. What the second loses beyond the third is the
price of a newcomer, not of fewer rows. History is of the training rows alone here, so that figures
differ a little from a table's.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.laboratory.decisions import decisions
from bench.laboratory.judging import Exam
from bench.laboratory.methods import Method
from bench.laboratory.results import Results
from functions.retrain.evaluation import share
from functions.retrain.nights import Night
from functions.retrain.training import training_set
from leap_model.columns import Floats, Labels
from leap_model.history import Outcomes, family_hashes, history_as_of

KINDS = ("hardware", "model")
MEASURES = 1
"""Goes up when a row of the same night, method and group would hold something else."""

Said: TypeAlias = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True)
class Group:
    """Attempts that are held out together: `trained` (training rows,) and `asked` (n,) bool."""

    kind: str
    name: str
    trained: NDArray[np.bool_]
    asked: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the rows of groups are kept, and what they depend on besides fleet, night and group."""

    results: Results
    night: date
    method: Method
    settings: Mapping[str, Any]

    def read(self, group: Group) -> dict[str, Any] | None:
        """The row of a group, None where there is none yet."""
        known = self.results.read(self.night, self._name(), self._of(group))
        return None if known is None else known["row"]

    def write(self, group: Group, row: Mapping[str, Any]) -> None:
        """Keep the row of a group."""
        self.results.write(self.night, self._name(), self._of(group), {"row": row})

    def _name(self) -> str:
        return f"holdout-{self.method.name}"

    def _of(self, group: Group) -> dict[str, Any]:
        of_group = {"kind": group.kind, "name": group.name, "measures": MEASURES}
        return {**self.settings, **of_group, "constants": dict(self.method.constants)}


def groups(night: Night, jobs: int, kind: str, largest: int, least: int) -> Iterator[Group]:
    """The groups of a kind with the most attempts among the first `jobs` of a night's.

    Parameters
    ----------
    night, jobs : Night, int
        Whose attempts.
    kind : str
        `hardware`, by type, or `model`, by the part of the model type before its first character
        that is no letter and no digit.
    largest, least : int
        How many groups, and the fewest attempts of each on either side.
    """
    trained, asked = (_names(attempts.jobs, kind) for attempts in (night.training, night.jobs))
    asked = asked[:jobs]
    names, counts = np.unique(asked, return_counts=True)
    order = np.lexsort((names, -counts))
    found = 0
    for name, count in zip(names[order], counts[order], strict=True):
        rows = trained == name
        if found < largest and count >= least and rows.sum() >= least and not rows.all():
            found += 1
            yield Group(kind, str(name), rows, asked == name)


def held_out(
    exam: Exam,
    method: Method,
    chosen: Sequence[Group],
    seed: int,
    watch: Callable[[str], None] | None = None,
    kept: Kept | None = None,
) -> list[dict[str, Any]]:
    """One row a group: w20 of its attempts, and regret where there is truth, by the model of all
    rows (`all`), without the group (`without`), and without as many at random (`random`).

    A group that is among the `kept` is read. What is drawn for a group depends on it and the seed
    alone, not on the others.
    """
    everything = np.ones(len(exam.night.training), bool)
    whole: Said | None = None
    told = []
    for group in chosen:
        known = None if kept is None else kept.read(group)
        if known is not None:
            told.append(known)
            continue
        if watch is not None:
            watch(f"{group.kind} {group.name}")
        if whole is None:
            whole = _said(exam, method, everything)
        count = int(group.trained.sum())
        draw = np.random.default_rng([seed, *f"{group.kind} {group.name}".encode()])
        dropped = np.zeros(len(everything), bool)
        dropped[draw.choice(len(everything), count, replace=False)] = True
        answers = {
            "all": whole,
            "without": _said(exam, method, ~group.trained),
            "random": _said(exam, method, ~dropped),
        }
        entry = {
            "kind": group.kind,
            "name": group.name,
            "rows": count,
            "attempts": int(group.asked.sum()),
            **{name: _marks(exam, group, said) for name, said in answers.items()},
        }
        if kept is not None:
            kept.write(group, entry)
        told.append(entry)
    return told


def night_of(night: Night, kept: NDArray[np.bool_]) -> Night:
    """The night as if only some training rows had ever run."""
    training = night.training.take(np.flatnonzero(kept))
    outcomes = Outcomes(
        family_hashes(training.jobs.family), training.completed_at, np.log(training.measured)
    )
    rows = training_set(training, outcomes, night.catalogue, night.settings.target)
    return replace(
        night,
        training=training,
        rows=rows,
        known=outcomes,
        outcomes=outcomes,
        history=history_as_of(outcomes, night.families, night.before),
    )


def _said(exam: Exam, method: Method, kept: NDArray[np.bool_]) -> Said:
    if exam.asked is None:
        return method.predict(night_of(exam.night, kept)), None
    said = method.predict(night_of(exam.asked.night, kept))
    return exam.asked.own(said), exam.asked.grid(said)


def _marks(exam: Exam, group: Group, said: Said) -> dict[str, Any]:
    own, grid = said
    measured = exam.night.jobs.measured[group.asked]
    near = np.abs(own[group.asked] / measured - 1) <= 0.20
    regret = None
    if exam.stakes is not None and grid is not None:
        rows = np.flatnonzero(group.asked[exam.sample])
        regret = decisions(exam.stakes.take(rows), grid[exam.sample[rows]])["regret"]
    return {"w20": share(near), "regret": regret}


def _names(jobs: Any, kind: str) -> NDArray[np.str_]:
    labels: Labels = jobs.hardware_type if kind == "hardware" else jobs.model_type
    prefix = re.compile(r"[^\W_]*")
    names = [
        name if kind == "hardware" else (match[0] if (match := prefix.match(name)) else "") or name
        for name in labels.values
    ]
    return np.array([*names, ""])[labels.codes]
