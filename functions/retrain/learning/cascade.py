"""The published cascade: bins of the target, an expert a bin, and a classifier that picks one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from functions.retrain.learning.bins import equal_frequency, nearest_expert
from functions.retrain.learning.boosting import Boosting
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.experts import (
    Asked,
    Fitting,
    ask_expert,
    fit_classifier,
    fit_expert,
    within,
)
from functions.retrain.learning.threads import threads_for
from functions.retrain.learning.workers import Processes, Workers, workers
from functions.retrain.stages import Stages
from leap_model.columns import Floats, Ints
from leap_model.model import Model
from leap_model.trees import Forest


@dataclass(frozen=True, slots=True)
class Cascade:
    """Equal-frequency bins of the target with a median expert each; rows move to the expert that
    predicts them best and the experts are fitted anew; a classifier learns the bins that result
    ("Look Before You Launch", arXiv 2611.04057).

    Attributes
    ----------
    bins : int
        How many; fewer where values repeat, or where one would have under `least_rows_per_bin`.
    rounds : int
        The most often that rows move.
    least_moved : float
        Share of the rows; a round in which fewer moved is the last.
    reach : int
        Bins with rows to each side of a row's own whose experts are asked whether they predict it
        better.
    deciding_trees : int
        Trees of the experts that only decide where rows move; those that serve have
        `expert_trees`.
    """

    name: str = "cascade"
    bins: int = 13
    rounds: int = 3
    least_moved: float = 0.02
    reach: int = 1
    least_rows_per_bin: int = 40
    least_rows_per_leaf: int = 20
    expert_trees: int = 200
    expert_leaves: int = 63
    expert_learning_rate: float = 0.1
    deciding_trees: int = 60
    classifier_trees: int = 120
    classifier_leaves: int = 63
    classifier_learning_rate: float = 0.1

    @property
    def tried(self) -> "Cascade":
        return self

    def fit(self, training: TrainingSet, seed: int, processes: Processes = None) -> Fitted:
        stages = Stages()
        rounds: list[dict[str, Any]] = []
        first = bins = self._first_bins(training.values)
        with workers(len(training), processes, training.keeping) as pool:
            threads = threads_for(len(training)) if pool.alone else 1
            fitting = Fitting(training, seed, threads)
            while self._goes_on(bins, rounds):
                with stages("reassign"):
                    bins, told = self._reassign(fitting, bins, pool)
                rounds.append(told)
            with stages("fit"):
                experts, picker, spent = self._fit(fitting, bins, pool)
            peak = pool.peak_mb
        alive = np.unique(bins).tolist()
        named = {
            f"expert-{number:02}": expert for number, expert in zip(alive, experts, strict=True)
        }
        notes = {
            "bins": len(np.unique(first)),
            "first_rows_per_bin": _rows(first, self.bins),
            "rows_per_bin": _rows(bins, self.bins),
            "rounds": rounds,
            "class_map": alive,
            "trees_per_expert": [expert.n_trees for expert in experts],
            "processes": pool.count,
            "seconds": stages.seconds,
            "cpu_seconds": spent,
        }
        model = Model.of_cascade(picker, named) if picker else Model.of_one(experts[0])
        return Fitted(model, notes, peak)

    def settings(self) -> Mapping[str, Any]:
        return asdict(self)

    def _first_bins(self, values: Floats) -> Ints:
        allowed = len(values) // self.least_rows_per_bin
        bins = max(1, min(self.bins, allowed))
        return equal_frequency(values, bins, self.least_rows_per_bin)

    def _goes_on(self, bins: Ints, rounds: Sequence[Mapping[str, Any]]) -> bool:
        if len(rounds) >= self.rounds or bins.min() == bins.max():
            return False
        return not rounds or rounds[-1]["moved"] >= self.least_moved

    def _reassign(self, fitting: Fitting, bins: Ints, pool: Workers) -> tuple[Ints, dict[str, Any]]:
        """Each row in the bin whose expert is nearest, and the round's bookkeeping."""
        alive, places = np.unique(bins, return_inverse=True)
        size = self._expert(self.deciding_trees)
        calls = [(ask_expert, fitting, size, places, at, self.reach) for at in range(len(alive))]
        # One that was kept comes back as a plain tuple.
        answers = [Asked(*answer) for answer in pool.run(calls)]
        errors = np.full((len(bins), len(alive)), np.inf)
        for at, asked in enumerate(answers):
            errors[within(places, at, self.reach), at] = asked.errors
        nearest = nearest_expert(errors, places)
        rows = np.arange(len(bins))
        return alive[nearest], {
            "moved": float(np.mean(nearest != places)),
            "loss_before": float(errors[rows, places].mean()),
            "loss_after": float(errors[rows, nearest].mean()),
            "rows_per_bin": _rows(alive[nearest], self.bins),
            "cpu_seconds": {
                "experts": round(sum(asked.fitting_s for asked in answers), 3),
                "scoring": round(sum(asked.scoring_s for asked in answers), 3),
            },
        }

    def _fit(
        self, fitting: Fitting, bins: Ints, pool: Workers
    ) -> tuple[list[Forest], Forest | None, dict[str, float]]:
        """The experts of the bins that have rows, ascending, and the classifier of two or more."""
        alive, places = np.unique(bins, return_inverse=True)
        size = self._expert(self.expert_trees)
        calls: list[tuple[Any, ...]] = [
            (fit_expert, fitting, size, places, at) for at in range(len(alive))
        ]
        if len(alive) == 1:
            ((expert, spent),) = pool.run(calls)
            return [expert], None, {"experts": round(spent, 3)}
        threads = 1 if pool.on_cluster else threads_for(len(bins))
        picking = (fitting, self._classifier(), bins, threads)
        if threads == 1:  # beside the experts, and first: nothing takes as long
            (picker, took), *fits = pool.run([(fit_classifier, *picking), *calls])
        else:  # after them, when the cores are its own
            fits = pool.run(calls)
            picker, took = pool.here((fit_classifier, *picking))
        spent = {"classifier": took, "experts": sum(seconds for _, seconds in fits)}
        rounded = {name: round(seconds, 3) for name, seconds in spent.items()}
        return [expert for expert, _ in fits], picker, rounded

    def _expert(self, trees: int) -> Boosting:
        return Boosting(
            trees, self.expert_leaves, self.expert_learning_rate, self.least_rows_per_leaf
        )

    def _classifier(self) -> Boosting:
        return Boosting(
            self.classifier_trees,
            self.classifier_leaves,
            self.classifier_learning_rate,
            self.least_rows_per_leaf,
        )


def _rows(bins: Ints, asked: int) -> list[int]:
    """Rows of each bin that was asked for, 0 for one that has none."""
    return [int(count) for count in np.bincount(bins, minlength=asked)]
