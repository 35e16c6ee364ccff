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
from leap_model.features.schema import SCALES

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

DEFAULT = ("network", "single")
"""What a nightly run tries: the first is the champion where nothing serves yet."""

_LEAST = {
    "rounds": 0,
    "reach": 0,
    "strangers": 0,
    "leaves": 2,
    "expert_leaves": 2,
    "classifier_leaves": 2,
}
_MOST = {"bins": 1_000}
_MOST_OF_ANY = 1_000_000
_FROM_NOTHING = {
    "least_moved": 1.0,
    "decay": 1.0,
    "vector_decay": 1.0,
    "dropout": 0.9,
    "hide_family": 1.0,
    "hide_hardware": 0.9,
    "hide_model_type": 0.9,
    "hide_other": 0.9,
    "hide_config": 0.9,
}
"""Numbers that may be 0, and the most that each may be."""
_MOST_EPOCHS = 10_000


def named(text: str, field: str) -> tuple[str, ...]:
    """The names in a text, which commas separate.

    Raises
    ------
    FieldError
        There is none, one is no estimator's, or one comes twice.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in ESTIMATORS:
            known = ", ".join(repr(one) for one in ESTIMATORS)
            raise FieldError(field, name, f"one of {known}, or several with commas between them")
    if len(set(names)) < len(names):
        raise FieldError(field, text, "names that differ")
    return names


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
    if isinstance(current, str):
        if value not in SCALES:
            raise FieldError(constant, text, f"one of {', '.join(SCALES)}")
        return value
    if isinstance(current, int):
        most = _MOST.get(constant, _MOST_OF_ANY)
        return fields.integer(value, constant, _LEAST.get(constant, 1), most)
    if constant in _FROM_NOTHING:
        return fields.number(value, constant, least=0, most=_FROM_NOTHING[constant])
    return fields.number(value, constant, above=0, most=_MOST_EPOCHS if constant == "epochs" else 1)
