"""The fits of a cascade, each a call that any process can make."""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from functions.retrain.learning.boosting import Boosting, classifier, regressor
from functions.retrain.learning.estimator import TrainingSet
from leap_model.columns import Floats, Ints
from leap_model.trees import Forest


@dataclass(frozen=True, slots=True)
class Fitting:
    """What every fit of one cascade shares."""

    training: TrainingSet
    seed: int
    threads: int

    @property
    def categorical(self) -> list[bool]:
        """Whether each column holds category codes."""
        return self.training.schema.is_categorical()


class Asked(NamedTuple):
    """How far an expert is off the rows within its reach, and the processor seconds it took."""

    errors: Floats
    fitting_s: float
    scoring_s: float


def ask_expert(fitting: Fitting, size: Boosting, places: Ints, place: int, reach: int) -> Asked:
    """Fit the expert of one place, and score the rows of all places up to `reach` beside it.

    Parameters
    ----------
    fitting, size : Fitting, Boosting
        Data and constants.
    places : (n,)
        Each row's place among the bins that have rows.
    place, reach : int
        Whose expert, and how far.
    """
    started = time.process_time()
    expert, _ = fit_expert(fitting, size, places, place)
    fitted = time.process_time()
    asked = within(places, place, reach)
    predicted = expert.score(fitting.training.matrix[asked])[:, 0]
    errors = np.abs(predicted - fitting.training.values[asked])
    return Asked(errors, fitted - started, time.process_time() - fitted)


def fit_expert(fitting: Fitting, size: Boosting, places: Ints, place: int) -> tuple[Forest, float]:
    """The expert of one place's rows, and the processor seconds that it took."""
    started = time.process_time()
    rows = places == place
    matrix, values = fitting.training.matrix[rows], fitting.training.values[rows]
    expert = regressor(matrix, values, fitting.categorical, size, fitting.seed, fitting.threads)
    return expert, time.process_time() - started


def fit_classifier(
    fitting: Fitting, size: Boosting, bins: Ints, threads: int
) -> tuple[Forest, float]:
    """The classifier of (n,) bins, and the processor seconds that it took."""
    started = time.process_time()
    matrix = fitting.training.matrix
    picker = classifier(matrix, bins, fitting.categorical, size, fitting.seed, threads)
    return picker, time.process_time() - started


def within(places: Ints, place: int, reach: int) -> NDArray[np.bool_]:
    """(n,) whether each row lies within reach of a place."""
    return np.abs(places - place) <= reach
