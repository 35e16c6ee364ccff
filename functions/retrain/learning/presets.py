"""Estimators by name, and how a name with changed constants becomes one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import Estimator
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.single import Single
from leap_model import fields
from leap_model.cells import value_of_cell
from leap_model.errors import FieldError

ESTIMATORS: Mapping[str, Single | Cascade | ResidualNetwork] = {
    estimator.name: estimator
    for estimator in (
        ResidualNetwork(),
        Single(),
        Single(name="plain", scaled=False),
        Cascade(),
        Cascade(
            name="cascade-published",
            reach=1_000,
            expert_trees=3_000,
            expert_leaves=255,
            expert_learning_rate=0.03,
            deciding_trees=3_000,
            classifier_trees=300,
            classifier_leaves=255,
        ),
    )
}
"""`plain` is the published system's first rung. `cascade` has cheaper constants than the published
ones; both presets differ in nothing else. The publication does not state the classifier's size."""

_LEAST = {"rounds": 0, "reach": 0, "leaves": 2, "expert_leaves": 2, "classifier_leaves": 2}
_MOST = {"bins": 1_000}
_MOST_OF_ANY = 1_000_000
_MOST_OF_NUMBER = {"epochs": 10_000.0}


def configured(name: str, constants: Mapping[str, str]) -> Estimator:
    """The estimator of a name, its constants replaced by what their texts say.

    Raises
    ------
    FieldError
        It has no such constant, or the text breaks the constant's rule.
    """
    estimator = ESTIMATORS[name]
    known = {key: value for key, value in estimator.settings().items() if key != "name"}
    for constant in constants:
        if constant not in known:
            raise FieldError("constant", constant, f"one of {name}'s: {', '.join(known)}")
    return replace(
        estimator, **{key: _parsed(key, text, known[key]) for key, text in constants.items()}
    )


def _parsed(constant: str, text: str, current: Any) -> Any:
    """The text as the type that the constant has."""
    value = value_of_cell(text)
    if value is None:
        raise FieldError(constant, text, "a value")
    if isinstance(current, bool):
        if not isinstance(value, bool):
            raise FieldError(constant, text, "true or false")
        return value
    if isinstance(current, int):
        most = _MOST.get(constant, _MOST_OF_ANY)
        return fields.integer(value, constant, _LEAST.get(constant, 1), most)
    if constant == "least_moved":
        return fields.number(value, constant, least=0, most=1)
    return fields.number(value, constant, above=0, most=_MOST_OF_NUMBER.get(constant, 1))
