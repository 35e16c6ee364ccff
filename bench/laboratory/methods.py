"""The methods of the laboratory by name: what each says of a night's jobs, and its constants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from bench.laboratory.ablation import ABLATION
from bench.laboratory.rules import RULES, said_by
from functions.retrain.comparators import (
    family_median,
    family_median_else_model,
    lookup_table,
)
from functions.retrain.judged import Judged
from functions.retrain.ladder import LADDER, Rung, climbed, judged_on
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.nights import Night
from leap_model.columns import Floats
from leap_model.errors import LeapError


class MethodError(LeapError):
    """There is no such method, or what it needs is not installed."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to predict. Its answer of one job depends on no other job.

    `constants` with the name decide the answer, besides the night. `speaks_of_types` is false
    where an answer is of the family alone, whatever the type. `judge` gives the same answer with
    what was known of each job, where LEAP's own code learns.
    """

    name: str
    constants: Mapping[str, Any]
    predict: Callable[[Night], Floats]
    speaks_of_types: bool = True
    judge: Callable[[Night], Judged] | None = None


MODELS: Mapping[str, Rung] = {
    **{name: Rung(estimator) for name, estimator in ESTIMATORS.items()},
    **LADDER,
    "without-history": Rung(ESTIMATORS["single"], ("history",)),
    **ABLATION,
}
"""What LEAP's own learning code fits."""

HEAVY: Mapping[str, str] = {
    "lightgbm": "bench.laboratory.lightgbm_method",
    "lightgbm-scaled": "bench.laboratory.lightgbm_method",
    "embedding-mlp": "bench.laboratory.embedding_methods",
    "gbdt-embedding": "bench.laboratory.embedding_methods",
    "dnn": "bench.laboratory.network_method",
    "arise": "bench.laboratory.arise_method",
}
"""Modules of methods that need bench/requirements.txt; each has `METHODS`, by name."""

NAMES = (
    *(*MODELS, "family-median", "family-median-else-model", "lookup-table"),
    *(*RULES, *HEAVY),
)


def method(name: str, trees: float = 1.0) -> Method:
    """The method of a name.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    trees : float
        Share of the trees or epochs that its constants state, at least one, for tables that
        must not take a night. It is one of the constants that results are filed by.

    Raises
    ------
    MethodError
        There is none, or what it needs is not installed.
    """
    if name in MODELS:
        return _fitted(name, MODELS[name], trees)
    if name == "family-median":
        return Method(name, {}, lambda night: family_median(night, no_answers(night)), False)
    if name == "family-median-else-model":
        model = _fitted("single", MODELS["single"], trees)
        return Method(
            name,
            model.constants,
            lambda night: family_median_else_model(night, model.predict(night)),
            False,
        )
    if name == "lookup-table":
        return Method(name, {}, lambda night: lookup_table(night, no_answers(night)))
    if name in RULES:
        return Method(name, {}, lambda night: said_by(name, night))
    if name in HEAVY:
        return _heavy(name, trees)
    raise MethodError(f"{name} is none of {', '.join(NAMES)}")


def with_fewer_trees(estimator: Any, share: float) -> Any:
    """The estimator with a share of each of its counts of trees; a network has none."""
    counts = {
        key: max(1, round(value * share))
        for key, value in estimator.settings().items()
        if key.endswith("trees")
    }
    return replace(estimator, **counts)


def no_answers(night: Night) -> Floats:
    """The answer of a model that comparators without one never look at."""
    return np.full(len(night.jobs), np.nan)


def _fitted(name: str, rung: Rung, trees: float) -> Method:
    estimator = with_fewer_trees(rung.estimator, trees)
    fewer = replace(rung, estimator=estimator)
    constants = {**estimator.settings(), "without": sorted(rung.without)}
    return Method(
        *(name, constants, lambda night: climbed(night, fewer)),
        judge=lambda night: judged_on(night, fewer),
    )


def _heavy(name: str, trees: float) -> Method:
    try:
        module = import_module(HEAVY[name])
    except ImportError as fault:
        raise MethodError(
            f"{name} needs {fault.name}, which bench/requirements.txt installs"
        ) from None
    found: Method = module.METHODS[name](trees)
    return found
