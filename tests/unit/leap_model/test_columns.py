"""Columns: dictionary-encoded text, and open objects as numbers and texts apart."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.columns import Labels, Objects
from tests.unit.leap_model.builders import jobs_of

TEXTS = st.lists(st.none() | st.sampled_from("abcd"), max_size=12)


def texts_of(labels: Labels) -> list[str | None]:
    return [None if code < 0 else labels.values[code] for code in labels.codes]


@given(TEXTS)
def test_labels_hold_every_text_once(texts: list[str | None]) -> None:
    labels = Labels.of(texts)
    assert texts_of(labels) == texts
    assert len(set(labels.values)) == len(labels.values)
    assert labels.codes.dtype == np.int32


@given(TEXTS, st.data())
def test_labels_at_some_rows(texts: list[str | None], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=8)) if texts else []
    taken = Labels.of(texts).take(np.array(rows, np.intp))
    assert texts_of(taken) == [texts[row] for row in rows]


@given(TEXTS)
def test_labels_recode_by_text_and_keep_missing_apart(texts: list[str | None]) -> None:
    recoded = Labels.of(texts).recode({"c": 0, "a": 7}, unknown=9)
    assert recoded.tolist() == [
        -1 if text is None else {"c": 0, "a": 7}.get(text, 9) for text in texts
    ]


@given(TEXTS)
def test_labels_become_numbers_as_they_are_recoded(texts: list[str | None]) -> None:
    labels, table = Labels.of(texts), {"c": 0, "a": 7}
    codes = labels.recode(table, unknown=9).astype(np.float64)
    codes[codes < 0] = np.nan
    np.testing.assert_array_equal(labels.numbers(table, unknown=9), codes)


@given(TEXTS)
def test_labels_map_merges_equal_results(texts: list[str | None]) -> None:
    mapped = Labels.of(texts).map({"a": "x", "b": "y", "c": "x", "d": None}.get)
    wanted = [None if text is None else {"a": "x", "b": "y", "c": "x"}.get(text) for text in texts]
    assert texts_of(mapped) == wanted


def test_labels_without_a_text_still_recode() -> None:
    nothing = Labels.of([None, None])
    assert nothing.recode({"a": 0}, 5).tolist() == [-1, -1]
    assert texts_of(nothing.map(str.upper)) == [None, None]
    assert Labels.of([]).recode({"a": 0}, 5).tolist() == []


OBJECTS: list[dict[str, Any] | None] = [
    {"lr": 0.1, "steps": 5, "fused": True, "note": "x"},
    {"lr": "auto", "steps": None, "fused": False},
    None,
    {},
    {"lr": "", "steps": 10**300, "note": "y"},
]


def test_objects_keep_numbers_and_texts_of_a_name_apart() -> None:
    columns = Objects.of(OBJECTS)
    assert list(columns.by_name) == ["fused", "lr", "note", "steps"]
    nan = np.nan
    lr = columns.by_name["lr"]
    np.testing.assert_array_equal(lr.numbers, [0.1, nan, nan, nan, nan])
    assert texts_of(lr.labels) == [None, "auto", None, None, ""]
    assert lr.present().tolist() == [True, True, False, False, True]


def test_booleans_are_the_numbers_one_and_zero() -> None:
    fused = Objects.of(OBJECTS).by_name["fused"]
    np.testing.assert_array_equal(fused.numbers, [1.0, 0.0, np.nan, np.nan, np.nan])
    assert fused.labels.values == ()


def test_a_name_that_is_always_null_is_no_column() -> None:
    assert Objects.of([{"a": None}, {"a": None, "b": 1}]).by_name.keys() == {"b"}


def test_objects_do_not_depend_on_the_order_of_keys() -> None:
    turned = Objects.of([dict(reversed(list((entry or {}).items()))) for entry in OBJECTS])
    straight = Objects.of(OBJECTS)
    assert list(turned.by_name) == list(straight.by_name)
    for name, column in straight.by_name.items():
        np.testing.assert_array_equal(turned.by_name[name].numbers, column.numbers)
        np.testing.assert_array_equal(turned.by_name[name].labels.codes, column.labels.codes)


@pytest.mark.parametrize("rows", [[], [4, 0, 0], [2]])
def test_objects_at_some_rows(rows: list[int]) -> None:
    taken = Objects.of(OBJECTS).take(np.array(rows, np.intp))
    wanted = Objects.of([OBJECTS[row] for row in rows])
    assert taken.rows == wanted.rows == len(rows)
    for name, column in taken.by_name.items():
        other = wanted.by_name.get(name)
        numbers = other.numbers if other else np.full(len(rows), np.nan)
        texts = texts_of(other.labels) if other else [None] * len(rows)
        np.testing.assert_array_equal(column.numbers, numbers)
        assert texts_of(column.labels) == texts


def test_the_first_of_several_names_that_a_row_has_counts() -> None:
    columns = Objects.of([{"a": 1, "b": 2}, {"b": 2, "c": 3}, {"c": 3}, {"a": "x", "b": 5}, {}])
    nan = np.nan
    np.testing.assert_array_equal(columns.number("a", "b"), [1, 2, nan, 5, nan])
    np.testing.assert_array_equal(columns.number("b", "a"), [2, 2, nan, 5, nan])
    np.testing.assert_array_equal(columns.number("nowhere"), [nan] * 5)
    np.testing.assert_array_equal(columns.number(), [nan] * 5)


def test_jobs_at_some_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"model_type": "a", "num_trainers": 1, "config": {"x": 1}, "launched_at": 5},
        {"model_type": "b", "num_trainers": 2, "allocation": {"zone": "z"}, "family": "f"},
        {"hardware_type": "slow-4", "architecture": {"gmacs": 4}, "accelerators_per_host": 2},
    ]
    taken = jobs_of(rows).take(np.array([2, 0]))
    assert len(taken) == 2
    assert texts_of(taken.hardware_type) == ["slow-4", "fast-8"]
    assert texts_of(taken.model_type) == ["resnet", "a"]
    assert taken.launched_at[1] == 5
    np.testing.assert_array_equal(taken.accelerators_per_host, [2, np.nan])
    np.testing.assert_array_equal(taken.config.number("x"), [np.nan, 1])
    np.testing.assert_array_equal(taken.architecture.number("gmacs"), [4, np.nan])


def test_an_object_that_several_rows_share_gives_what_equal_ones_do() -> None:
    shared: dict[str, Any] = {"a": 1, "b": "x"}
    rows: list[dict[str, Any] | None] = [shared, None, {"b": "y"}, shared, None, shared]
    alone = [None if row is None else dict(row) for row in rows]
    for taken, expected in zip(
        Objects.of(rows).by_name.items(), Objects.of(alone).by_name.items(), strict=True
    ):
        assert taken[0] == expected[0]
        np.testing.assert_array_equal(taken[1].numbers, expected[1].numbers)
        assert texts_of(taken[1].labels) == texts_of(expected[1].labels)
    assert Objects.of(rows).rows == len(rows)


SHARED: dict[str, Any] = {"b": 2, "precision": "FP32", "none": None, "flag": True, "a": 0.5}


def test_an_object_that_all_rows_share_says_once_what_each_row_would() -> None:
    one, whole = Objects.of_rows([SHARED] * 5), Objects.of([SHARED] * 5)
    assert one.rows == 5
    assert list(one.columns()) == [
        *[("b", 2.0, None), ("precision", None, "FP32"), ("flag", 1.0, None), ("a", 0.5, None)]
    ]
    for names in [("none", "b"), ("precision", "a"), ("flag",), ("nowhere",), ()]:
        assert isinstance(one.number(*names), float)
        np.testing.assert_array_equal(np.full(5, one.number(*names)), whole.number(*names))
    assert one.take(np.array([0, 3])) == Objects(2, {}, SHARED)


@pytest.mark.parametrize(
    ("names", "number"), [(("precision",), 7), (("b",), 2), (("nowhere", "b"), 3), ((), 2)]
)
def test_what_an_entry_says_is_the_same_of_shared_and_of_own_objects(
    names: tuple[str, ...], number: float
) -> None:
    one, whole = Objects.of_rows([SHARED] * 5), Objects.of([SHARED] * 5)
    said = whole.says(names, {"fp32"}, number)
    assert said.tolist() == [one.says(names, {"fp32"}, number)] * 5


@pytest.mark.parametrize(
    "objects", [[], [{"a": 1}, {"a": 1}], [{"a": 1}, None], [None, None]], ids=str
)
def test_objects_that_rows_do_not_share_are_rows(objects: list[dict[str, Any] | None]) -> None:
    assert Objects.of_rows(objects).shared is None
    assert Objects.of_rows(objects).rows == len(objects)
