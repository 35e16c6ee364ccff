"""Attempts: every rule of the contract, and that nothing but a FieldError comes out."""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leap_model.attempt import Attempt, parse_attempt
from leap_model.errors import FieldError
from leap_model.json_text import read_json
from leap_model.limits import DAY_US
from leap_model.times import format_time, parse_time
from tests.support import NOW, attempt

REQUIRED = (
    "attempt_id",
    "job_name",
    "model_type",
    "hardware_type",
    "num_trainers",
    "batch_size",
    "completed_at",
)
OPTIONAL: dict[str, Any] = {
    "job_family": "team/resnet",
    "accelerators_per_host": 8,
    "launched_at": "2026-01-02T08:00:00Z",
    "throughput": 7.5,
    "config": {"lr": 0.1},
    "allocation": {"zone": "a"},
    "architecture": {"gmacs": 4},
    "duration_s": 3540,
    "cost_usd": 12.5,
    "utilization": 0.5,
    "ranking": {"ranking_id": "r-1"},
}


def parsed(**values: Any) -> Attempt:
    return parse_attempt(attempt(**values), NOW)


def refusal(**values: Any) -> str:
    with pytest.raises(FieldError) as caught:
        parsed(**values)
    return caught.value.field


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def test_a_whole_attempt_is_read() -> None:
    whole = parsed(**OPTIONAL)
    assert whole.job_family == "team/resnet"
    assert whole.num_trainers == 8
    assert whole.batch_size == 64.0
    assert whole.launched_at == parse_time("2026-01-02T08:00:00Z")
    assert whole.completed_at == parse_time("2026-01-02T08:59:00Z")
    assert (whole.config, whole.allocation) == ('{"lr":0.1}', '{"zone":"a"}')
    assert whole.architecture == {"gmacs": 4.0}
    assert whole.ranking == '{"ranking_id":"r-1"}'
    assert whole.dropped_values == 0


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_field_must_be_there_and_not_null(name: str) -> None:
    with pytest.raises(FieldError, match=f"^{name} is missing; it must be "):
        parse_attempt(without(attempt(), name), NOW)
    with pytest.raises(FieldError, match=f"^{name} is null; it must be "):
        parsed(**{name: None})


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_field_may_be_absent_or_null(name: str) -> None:
    record = attempt(**OPTIONAL)
    absent = parse_attempt(without(record, name), NOW)
    assert absent == parse_attempt({**record, name: None}, NOW)
    assert getattr(absent, name) in (None, {}, "{}")
    assert getattr(parse_attempt(record, NOW), name) not in (None, {}, "{}")


@pytest.mark.parametrize("record", [None, [], "{}", 5, True, [attempt()], math.nan])
def test_an_attempt_must_be_an_object(record: Any) -> None:
    with pytest.raises(FieldError, match="^attempt is .*; it must be an object$"):  # noqa: RUF043
        parse_attempt(record, NOW)


@pytest.mark.parametrize(
    ("name", "longest"),
    [("attempt_id", 256), ("job_name", 1024), ("model_type", 256), ("hardware_type", 256)],
)
def test_names_have_a_greatest_length(name: str, longest: int) -> None:
    assert getattr(parsed(**{name: "é" * longest}), name) == "é" * longest
    for value in ("é" * (longest + 1), "", "  ", 7, True, ["a"], {"a": 1}):
        assert refusal(**{name: value}) == name


@pytest.mark.parametrize("value", ["", "   "])
def test_a_blank_family_is_none(value: str) -> None:
    assert parsed(job_family=value).job_family is None
    assert refusal(job_family=5) == "job_family"


@pytest.mark.parametrize(
    ("name", "fine", "refused"),
    [
        ("num_trainers", [1, 64, 64.0], [0, -1, 64.5, True, "64", " 64 ", [], math.nan, 10**400]),
        ("batch_size", [0.5, 64, 1e300], [0, -1, True, "64", [], math.nan, math.inf, 10**400]),
        ("accelerators_per_host", [0.5, 8], [0, -8, True, "8", math.nan, math.inf]),
        ("duration_s", [0, 3600.5], [-1, "3600", True, math.nan, math.inf]),
        ("cost_usd", [0, 3600.5], [-1, "3600", True, math.nan, math.inf]),
        ("utilization", [0, 0.5, 1], [-0.1, 1.1, 50, "0.5", True, math.nan]),
        ("config", [{}], [[], "{}", 1, True]),
        ("allocation", [{}], [[], "{}", 1, True]),
        ("architecture", [{}, {"a": None}], [[], "{}", {"a": "1"}, {"a": True}, {"a": []}]),
        ("ranking", [{}, {"preference": ["a", "b"]}], [[], "r-1", 1, {"reason": math.nan}]),
        ("launched_at", ["2010-01-01T00:00:00Z"], ["2026-01-02T08:00:00", 1767225600, True, ""]),
    ],
)
def test_each_field_takes_its_own_values(name: str, fine: list[Any], refused: list[Any]) -> None:
    for value in fine:
        parsed(**{name: value})
    for value in refused:
        assert refusal(**{name: value}).split(".")[0] == name


@pytest.mark.parametrize(
    ("completed_at", "fine"),
    [
        ("2015-01-01T00:00:00Z", True),
        ("2014-12-31T23:59:59.999999Z", False),
        ("2015-01-01T00:30:00+01:00", False),
        ("2014-12-31T23:30:00-01:00", True),
        ("0999-01-01T00:00:00Z", False),
        (format_time(NOW + DAY_US), True),
        (format_time(NOW + DAY_US + 1), False),
        ("9999-12-31T23:59:59-12:00", False),
        *[(1767225600, False), (1767225600000, False), (1767225600.0, False)],
        *[("1767225600", False), ("1767225600000", False), ("2026-01-02T08:59:00", False)],
        ("0001-01-01T00:00:00+01:00", False),
    ],
)
def test_completion_lies_between_2015_and_a_day_from_now(completed_at: Any, fine: bool) -> None:
    if fine:
        parsed(completed_at=completed_at)
    else:
        assert refusal(completed_at=completed_at) == "completed_at"


def test_now_is_the_clock_unless_given() -> None:
    parse_attempt(attempt())
    with pytest.raises(FieldError, match="between 2015 and a day from now"):
        parse_attempt(attempt(completed_at="2999-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("null", None),
        ("0", 0.0),
        ("-5", -5.0),
        ("1e-320", 1e-320),
        ("1e999", math.inf),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("12", 12.0),
    ],
)
def test_throughput_is_kept_whatever_it_is(written: str, kept: float | None) -> None:
    record = json.loads(json.dumps(attempt()).replace("1234.5", written))
    assert parse_attempt(record, NOW).throughput == kept


def test_nan_throughput_is_kept_and_text_refused() -> None:
    kept = parsed(throughput=math.nan)
    assert kept.throughput is not None
    assert math.isnan(kept.throughput)
    assert kept.record_sha256 == parsed(throughput=float("nan")).record_sha256
    refused: list[Any] = ["12", "NaN", True, []]
    for value in refused:
        assert refusal(throughput=value) == "throughput"


def test_nested_values_are_dropped_and_counted() -> None:
    kept = parsed(config={"a": {"b": 1}, "lr": 1}, allocation={"z": [1], "y": [], "zone": "a"})
    assert (kept.config, kept.allocation) == ('{"lr":1}', '{"zone":"a"}')
    assert kept.dropped_values == 3


def test_a_ranking_keeps_what_the_contract_names() -> None:
    told = {"ranking_id": "r", "model_version": None, "preference": ["a"], "reason": None}
    kept = parsed(ranking={**told, "more": math.nan}).ranking
    assert kept is not None
    assert json.loads(kept) == told


@pytest.mark.parametrize(
    "ranking",
    [
        {"preference": [["a"]]},
        {"preference": "a"},
        {"preference": [None]},
        {"preference": ["a"] * 1001},
        {"reason": {"deep": []}},
        {"ranking_id": 5},
    ],
    ids=str,
)
def test_a_ranking_of_another_shape_is_refused(ranking: Any) -> None:
    with pytest.raises(FieldError, match=r"ranking\."):
        parsed(ranking=ranking)


def test_unknown_fields_change_nothing() -> None:
    more = {"anything": {"deep": [1]}, "throughput_s": math.nan, "": None, "Job_Name": 5}
    assert parsed(**more) == parsed()


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    record = attempt(**OPTIONAL | {"config": {"a": 1, "b": "x", "c": None}})
    turned = {
        name: dict(reversed(value.items())) if isinstance(value, dict) else value
        for name, value in reversed(record.items())
    }
    assert list(turned) != list(record)
    assert parse_attempt(turned, NOW) == parse_attempt(record, NOW)


BEYOND_64_BITS = [2**64, -(2**63) - 1, 10**25, -(10**300)]


@pytest.mark.parametrize("number", [*BEYOND_64_BITS, 2**64 - 1, -(2**63), 2**53 + 1, 5e-324, 1e300])
def test_a_number_has_one_form_whatever_reader_it_came_through(number: float) -> None:
    text = json.dumps(attempt(config={"n": number}))
    by_python, by_us = json.loads(text), read_json(text.encode())
    one, two = (parse_attempt(record, NOW) for record in (by_python, by_us))
    assert one == two
    assert json.loads(one.config)["n"] == (float(number) if number in BEYOND_64_BITS else number)


@pytest.mark.parametrize("throughput", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_has_a_digest_of_its_own(throughput: float) -> None:
    others = [parsed(throughput=other) for other in (None, 0.0, math.nan, math.inf, -math.inf)]
    same = [other for other in others if repr(other.throughput) == repr(throughput)]
    digests = [other.record_sha256 for other in others]
    assert len(set(digests)) == len(digests)
    assert [one.record_sha256 for one in same] == [parsed(throughput=throughput).record_sha256]


def test_the_digest_does_not_depend_on_spelling() -> None:
    one = parsed(num_trainers=8.0, batch_size=64.0, completed_at="2026-01-02T09:59:00+01:00")
    assert one.record_sha256 == parsed(job_name=" resnet50-20260102-080000 ").record_sha256


@pytest.mark.parametrize(
    "values",
    [
        {"attempt_id": "a-0002"},
        {"num_trainers": 9},
        {"throughput": None},
        {"throughput": 1234.5000001},
        {"completed_at": "2026-01-02T08:59:00.000001Z"},
        {"config": {"lr": 0.1}},
        {"config": {"lr": "0.1"}},
        {"config": {"lr": None}},
        {"allocation": {"lr": 0.1}},
        {"architecture": {"lr": 0.1}},
        {"ranking": {}},
        {"job_family": "x"},
    ],
)
def test_the_digest_tells_other_records_apart(values: dict[str, Any]) -> None:
    assert parsed(**values).record_sha256 != parsed().record_sha256


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(
    SCALARS | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from((*REQUIRED, *OPTIONAL))
TIMES = st.datetimes(timezones=st.timezones()).filter(lambda moment: moment.year > 1)


@settings(max_examples=400)
@given(st.dictionaries(NAMES, JSON | TIMES.map(lambda moment: moment.isoformat()), max_size=4))
def test_any_json_is_an_attempt_or_a_field_error(values: dict[str, Any]) -> None:
    with suppress(FieldError):
        assert len(parsed(**values).record_sha256) == 64


@settings(max_examples=100)
@given(JSON)
def test_any_json_in_place_of_an_attempt_is_refused(record: Any) -> None:
    with pytest.raises(FieldError):
        parse_attempt(record, NOW)


@pytest.mark.parametrize("make", [lambda deep: {"a": deep}, lambda deep: {"a": {"b": deep}}])
def test_deep_nesting_in_a_configuration_is_dropped(make: Callable[[Any], Any]) -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert parsed(config={**make(deep), "lr": 1}).config == '{"lr":1}'
