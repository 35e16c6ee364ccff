"""Estimators by name, and constants that an operator sets as text."""

from typing import Any

import pytest

from functions.retrain.learning.presets import ESTIMATORS, configured
from leap_model.errors import FieldError
from leap_model.features.schema import SCALES

CONSTANTS = [
    (name, constant, value)
    for name, estimator in ESTIMATORS.items()
    for constant, value in estimator.settings().items()
    if constant != "name"
]


def another(value: Any) -> tuple[str, Any]:
    """A text, and the value that it says: another one of the same type."""
    if isinstance(value, bool):
        return str(not value), not value
    if isinstance(value, int):
        return str(value + 1), value + 1
    if isinstance(value, str):
        other = next(scale for scale in SCALES if scale != value)
        return other, other
    return f"{value / 2}", value / 2


def test_estimators_go_by_their_own_names() -> None:
    assert list(ESTIMATORS) == ["network", "single", "plain", "cascade", "cascade-published"]
    assert all(estimator.name == name for name, estimator in ESTIMATORS.items())


def test_the_published_preset_has_the_published_constants() -> None:
    settings = ESTIMATORS["cascade-published"].settings()
    published = {
        "bins": 13,
        "rounds": 3,
        "least_moved": 0.02,
        "expert_trees": 3000,
        "deciding_trees": 3000,
        "expert_leaves": 255,
        "expert_learning_rate": 0.03,
    }
    assert published.items() <= settings.items()
    assert settings["reach"] >= settings["bins"] - 1


def test_the_cheaper_cascade_differs_in_size_alone() -> None:
    cheap, published = ESTIMATORS["cascade"].settings(), ESTIMATORS["cascade-published"].settings()
    for constant in ("bins", "rounds", "least_moved", "least_rows_per_bin", "least_rows_per_leaf"):
        assert cheap[constant] == published[constant]


def test_plain_is_single_without_the_scale() -> None:
    single, plain = ESTIMATORS["single"].settings(), ESTIMATORS["plain"].settings()
    assert plain == {**single, "name": "plain", "scaled": False}
    assert single["scaled"] is True


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_set_is_the_estimator_itself(name: str) -> None:
    assert configured(name, {}) == ESTIMATORS[name]


@pytest.mark.parametrize(("name", "constant", "value"), CONSTANTS)
def test_each_constant_is_set_by_text_and_nothing_else_changes(
    name: str, constant: str, value: Any
) -> None:
    text, expected = another(value)
    settings = configured(name, {constant: text}).settings()
    assert settings == {**ESTIMATORS[name].settings(), constant: expected}
    assert type(settings[constant]) is type(value)


def test_several_constants_at_once() -> None:
    settings = configured("cascade", {"bins": " 7 ", "rounds": "0", "least_moved": "1e-1"})
    assert settings.settings().items() >= {"bins": 7, "rounds": 0, "least_moved": 0.1}.items()


@pytest.mark.parametrize(
    ("name", "constant"),
    [("cascade", "trees"), ("single", "bins"), ("plain", "name"), ("cascade", "Bins")],
)
def test_a_constant_that_the_estimator_lacks_is_named_with_those_it_has(
    name: str, constant: str
) -> None:
    with pytest.raises(FieldError) as caught:
        configured(name, {constant: "5"})
    known = [key for key in ESTIMATORS[name].settings() if key != "name"]
    assert str(caught.value) == (
        f'constant is "{constant}"; it must be one of {name}\'s: {", ".join(known)}'
    )


@pytest.mark.parametrize(
    ("name", "constant", "text", "said"),
    [
        ("cascade", "bins", "0", "bins is 0; it must be an integer from 1 to 1,000"),
        ("cascade", "bins", "many", 'bins is "many"; it must be an integer from 1'),
        ("cascade", "bins", "", 'bins is ""; it must be a value'),
        ("cascade", "least_moved", " ", 'least_moved is " "; it must be a value'),
        ("single", "scaled", "", 'scaled is ""; it must be'),
        ("cascade", "bins", "true", "bins is true; it must be an integer from 1"),
        ("cascade", "bins", "2.5", "bins is 2.5; it must be an integer from 1"),
        ("cascade", "bins", "nan", "bins is NaN; it must be an integer from 1"),
        ("cascade", "bins", "inf", "bins is Infinity; it must be an integer from 1"),
        ("cascade", "rounds", "-1", "rounds is -1; it must be an integer from 0"),
        ("cascade", "reach", "-1", "reach is -1; it must be an integer from 0"),
        ("cascade", "expert_leaves", "1", "expert_leaves is 1; it must be an integer from 2"),
        ("cascade", "classifier_leaves", "1", "classifier_leaves is 1; it must be an integer from"),
        ("cascade", "deciding_trees", "0", "deciding_trees is 0; it must be an integer from 1"),
        ("cascade", "least_rows_per_leaf", "0", "least_rows_per_leaf is 0; it must be an integer"),
        ("cascade", "expert_trees", "1000001", "expert_trees is 1000001; it must be an integer"),
        ("cascade", "least_moved", "1.1", "least_moved is 1.1; it must be a finite number at"),
        ("cascade", "least_moved", "-0.1", "least_moved is -0.1; it must be a finite number at"),
        ("cascade", "least_moved", "nan", "least_moved is NaN; it must be a finite number at"),
        ("cascade", "expert_learning_rate", "0", "expert_learning_rate is 0; it must be a finite"),
        ("single", "learning_rate", "1.5", "learning_rate is 1.5; it must be a finite number abo"),
        ("single", "learning_rate", "fast", 'learning_rate is "fast"; it must be a finite number'),
        ("single", "leaves", "1", "leaves is 1; it must be an integer from 2 to 1,000,000"),
        ("single", "scaled", "1", 'scaled is "1"; it must be true or false'),
        ("plain", "scaled", "no", 'scaled is "no"; it must be true or false'),
        ("network", "scale", "log_peak", 'scale is "log_peak"; it must be one of ratio.'),
    ],
)
def test_a_value_that_breaks_a_rule_is_named_with_the_rule(
    name: str, constant: str, text: str, said: str
) -> None:
    with pytest.raises(FieldError) as caught:
        configured(name, {constant: text})
    assert str(caught.value).startswith(said)
    assert caught.value.field == constant


@pytest.mark.parametrize(("constant", "text"), [("least_moved", "0"), ("least_moved", "1")])
def test_a_bound_itself_is_allowed(constant: str, text: str) -> None:
    assert configured("cascade", {constant: text}).settings()[constant] == float(text)
