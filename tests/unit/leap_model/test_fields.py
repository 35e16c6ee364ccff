"""Single values: what each kind takes, what it refuses, and what it says then."""

import json
import math
from functools import partial
from typing import Any

import pytest

from leap_model import fields
from leap_model.errors import MISSING, FieldError, shown
from leap_model.limits import LONGEST_NAME, LONGEST_TEXT_VALUE, MOST_ENTRIES
from leap_model.times import parse_time

NAN, INF = math.nan, math.inf
HUGE = 10**400
LONE = "half of a pair \ud83d"
short = partial(shown, longest=24)
NO_NUMBERS = [True, False, "64", " 64 ", "", "NaN", [], [64], {}, (64,), b"64"]


@pytest.mark.parametrize("value", [64, 64.0], ids=short)
def test_integer_takes_whole_numbers(value: float) -> None:
    taken = fields.integer(value, "n", 1, 100)
    assert taken == 64
    assert type(taken) is int


@pytest.mark.parametrize(
    "value",
    [
        *NO_NUMBERS,
        None,
        MISSING,
        64.5,
        1e300,
        HUGE,
        -HUGE,
        NAN,
        INF,
        -INF,
        0,
        -1,
        101,
        0.999,
        100.5,
    ],
    ids=short,
)
def test_integer_refuses_all_else(value: Any) -> None:
    with pytest.raises(FieldError, match=r"n is .*; it must be an integer from 1 to 100"):
        fields.integer(value, "n", 1, 100)


@pytest.mark.parametrize("value", [64, 64.0, 64.5, -3, 0, 5e-324, 1.7e308, 10**300], ids=short)
def test_number_takes_every_finite_number(value: float) -> None:
    taken = fields.number(value, "x")
    assert taken == float(value)
    assert type(taken) is float


@pytest.mark.parametrize(
    "value", [*NO_NUMBERS, None, MISSING, HUGE, -HUGE, NAN, INF, -INF], ids=short
)
def test_number_refuses_all_else(value: Any) -> None:
    with pytest.raises(FieldError, match=r"x is .*; it must be a finite number$"):
        fields.number(value, "x")


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "rule"),
    [
        ({"above": 0}, [5e-324, 1], [0, -0.0, -1], "a finite number above 0"),
        ({"least": 0}, [0, -0.0, 1], [-5e-324, -1], "a finite number at least 0"),
        (
            {"least": 0, "most": 1},
            [0, 0.5, 1],
            [-0.01, 1.0000001, 2],
            "a finite number at least 0 and at most 1",
        ),
    ],
    ids=short,
)
def test_number_holds_its_bounds(
    bounds: dict[str, float], inside: list[float], outside: list[float], rule: str
) -> None:
    assert [fields.number(value, "x", **bounds) for value in inside] == inside
    for value in outside:
        with pytest.raises(FieldError) as caught:
            fields.number(value, "x", **bounds)
        assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        (MISSING, None),
        (0, 0.0),
        (-5, -5.0),
        (1e-320, 1e-320),
        (INF, INF),
        (-INF, -INF),
        (HUGE, INF),
        (64, 64.0),
    ],
    ids=short,
)
def test_measurement_keeps_what_is_no_measurement(value: Any, kept: float | None) -> None:
    assert fields.measurement(value, "throughput") == kept


def test_measurement_keeps_nan() -> None:
    taken = fields.measurement(NAN, "throughput")
    assert taken is not None
    assert math.isnan(taken)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=short)
def test_measurement_refuses_what_is_no_number(value: Any) -> None:
    with pytest.raises(FieldError, match="it must be a number or null"):
        fields.measurement(value, "throughput")


@pytest.mark.parametrize(
    "value", [0, 1, 0.0, "true", "false", "", None, MISSING, [], NAN, HUGE], ids=short
)
def test_boolean_takes_no_look_alike(value: Any) -> None:
    assert fields.boolean(True, "premium") is True
    assert fields.boolean(False, "premium") is False
    with pytest.raises(FieldError, match=r"premium is .*; it must be true or false"):
        fields.boolean(value, "premium")


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-02T09:00:00Z",
        " 2026-01-02T09:00:00Z\n",
        "2026-01-02T14:30:00+05:30",
        "2026-01-02T09:00:00.000000+00:00",
    ],
    ids=short,
)
def test_time_takes_text_with_a_zone(value: str) -> None:
    assert fields.time(value, "completed_at") == parse_time("2026-01-02T09:00:00Z")


@pytest.mark.parametrize(
    "value",
    [
        *(1767225600, 1767225600000, 1767225600.5, "1767225600", "1767225600000", HUGE, NAN, INF),
        *(True, None, MISSING, [], {}, "", "   ", "yesterday", LONE),
        *("2026-01-02", "2026-01-02T09:00:00", "2026-13-02T09:00:00Z", "2026-01-02T09:00:00 UTC"),
        *("0000-01-02T09:00:00Z", "10000-01-02T09:00:00Z"),
    ],
    ids=short,
)
def test_time_refuses_bare_numbers_and_times_without_zone(value: Any) -> None:
    with pytest.raises(FieldError, match=r"completed_at is .*; it must be an ISO-8601 time with a"):
        fields.time(value, "completed_at")


@pytest.mark.parametrize(
    ("value", "kept"),
    [("a", "a"), ("  a b \n", "a b"), ("é" * 256, "é" * 256), (" " * 999 + "a", "a")],
    ids=short,
)
def test_text_is_trimmed(value: str, kept: str) -> None:
    assert fields.text(value, "model_type") == kept


@pytest.mark.parametrize(
    "value",
    ["", "   ", "\n\t", "a" * 257, LONE, "\udc00", 64, 64.5, True, None, MISSING, [], {}],
    ids=short,
)
def test_text_refuses_nothing_too_much_and_other_types(value: Any) -> None:
    with pytest.raises(
        FieldError, match=r"model_type is .*; it must be text of 1 to 256 characters"
    ):
        fields.text(value, "model_type")


def test_scalars_keep_values_as_they_came_and_drop_nested_ones() -> None:
    entries = {
        "text": " as is ",
        "empty": "",
        "integer": 64,
        "number": 6.5,
        "yes": True,
        "null": None,
        "a list": [1],
        "an object": {"deep": {"deeper": 1}},
        "a tuple": (1,),
        "😀": "😀",
    }
    kept, dropped = fields.scalars(entries, "config")
    assert kept == {
        name: value
        for name, value in entries.items()
        if name not in ("a list", "an object", "a tuple")
    }
    assert dropped == 3
    assert type(kept["integer"]) is int
    assert kept["yes"] is True


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (NAN, "a finite number"),
        (INF, "a finite number"),
        (HUGE, "a finite number"),
        (LONE, "text of at most 4,096 characters"),
        ("a" * (LONGEST_TEXT_VALUE + 1), "text of at most 4,096 characters"),
        (b"bytes", "a finite number"),
    ],
    ids=short,
)
def test_scalars_refuse_a_value_by_its_path(value: Any, rule: str) -> None:
    with pytest.raises(FieldError) as caught:
        fields.scalars({"fine": 1, "lr": value}, "config")
    assert (caught.value.field, caught.value.rule) == ("config.lr", rule)


def test_numbers_leave_nulls_out_and_become_floats() -> None:
    taken = fields.numbers({"params_m": 25, "depth": None, "gmacs": 4.5}, "architecture")
    assert taken == {"params_m": 25.0, "gmacs": 4.5}
    assert all(type(value) is float for value in taken.values())


@pytest.mark.parametrize("value", [*NO_NUMBERS, NAN, INF, HUGE], ids=short)
def test_numbers_refuse_a_value_by_its_path(value: Any) -> None:
    with pytest.raises(FieldError, match=r"^architecture\.depth is .*a finite number$"):
        fields.numbers({"params_m": 25, "depth": value}, "architecture")


@pytest.mark.parametrize("kind", [fields.scalars, fields.numbers])
@pytest.mark.parametrize("value", [None, MISSING, [], "{}", 1, True, [["a", 1]]], ids=short)
def test_open_objects_must_be_objects(kind: Any, value: Any) -> None:
    with pytest.raises(FieldError, match="it must be an object of at most 1,000 named values"):
        kind(value, "config")


@pytest.mark.parametrize("kind", [fields.scalars, fields.numbers])
def test_open_objects_have_a_greatest_size(kind: Any) -> None:
    entries = {f"k{at}": at for at in range(MOST_ENTRIES)}
    kind(entries, "config")
    with pytest.raises(FieldError, match="at most 1,000 named values"):
        kind({**entries, "one more": 1}, "config")


@pytest.mark.parametrize("kind", [fields.scalars, fields.numbers])
@pytest.mark.parametrize("name", ["", "a" * (LONGEST_NAME + 1), LONE, 5, None], ids=short)
def test_open_objects_refuse_a_bad_name(kind: Any, name: Any) -> None:
    with pytest.raises(FieldError, match=r"^a name in config is .*text of 1 to 256 characters$"):
        kind({name: 1}, "config")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "two\nlines\r\n\u2028\x85",
            'x\n{"level":"ERROR"}',
            "a" * 5000,
            LONE,
            HUGE,
            10**5000,
            NAN,
        ),
        *(["a\nb"] * 999, {"a\n": "b"}, object(), b"\n", MISSING, None),
    ],
    ids=short,
)
def test_messages_are_one_short_sentence_that_names_field_value_and_rule(value: Any) -> None:
    with pytest.raises(FieldError) as caught:
        fields.boolean(value, "premium")
    message = str(caught.value)
    assert message.splitlines() == [message]
    assert message.startswith("premium is ")
    assert message.endswith("; it must be true or false")
    assert len(message) < 140
    message.encode()


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", 'lr\n{"level":"ERROR"}'], ids=short)
def test_messages_stay_one_line_whatever_an_entry_is_called(name: str) -> None:
    with pytest.raises(FieldError) as caught:
        fields.scalars({name: NAN}, "config")
    message = str(caught.value)
    assert message.splitlines() == [message]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MISSING, "missing"),
        (None, "null"),
        (True, "true"),
        ("64", '"64"'),
        (64.5, "64.5"),
        ([], "[]"),
        (object(), "a object"),
        ("a" * 100, '"' + "a" * 79 + "…"),
    ],
    ids=short,
)
def test_values_are_shown_as_json(value: Any, text: str) -> None:
    assert shown(value) == text


def test_a_value_too_deep_to_show_is_named_by_its_type() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list"


def test_what_the_fields_give_is_json_again() -> None:
    kept, _ = fields.scalars({"a": 1, "b": "é", "c": None, "d": 1e-300}, "config")
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
