"""Many records at once: a column takes what each record alone would give, and nothing else."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model import attempts as by_column
from leap_model.attempt import parse_attempt
from leap_model.attempts import parse_attempts
from leap_model.errors import FieldError
from leap_model.limits import DAY_US
from leap_model.times import format_time
from tests.support import NOW, attempt

ODD: dict[str, list[Any]] = {
    "attempt_id": ["", " ", " a ", "ä", "x" * 999, 7, None, ["a"], "\ud800", "a\x1f"],
    "job_name": ["", " a", "naïve", "x" * 9_999, True, {}, "\x00"],
    "job_family": [None, "", "  ", " f", "f", "ä", 1, []],
    "model_type": ["", "x" * 300, "ä", None, 3.0],
    "hardware_type": ["", "x\n", "ä", False],
    "num_trainers": [0, 1, 64.0, 64.5, True, "1", 10**6, 10**9, 10**400, math.nan, None],
    "accelerators_per_host": [None, 0, -1, 8, 8.0, "8", True, 1e9, math.nan, math.inf, 10**400],
    "batch_size": [0, -1, 1e-9, 5, None, True, math.inf, math.nan, 10**30, 10**400, [1]],
    "launched_at": [
        None,
        "",
        5,
        "2026-01-02",
        "2026-01-02T08:00:00Z ",
        "0001-01-01T00:00:00+14:00",
    ],
    "completed_at": [None, "x", format_time(NOW + 2 * DAY_US), "2014-12-31T00:00:00Z", 1.0],
    "throughput": [None, 0, -1, 5, math.nan, math.inf, -math.inf, "5", True, 10**400],
    "config": [
        *(None, {}, [], "x", {"": 1}, {"a" * 300: 1}, {1: 2}, {"ä": 1}, {"a": "ä"}),
        *({"a": None, "b": True, "c": 1, "d": 0.5}, {"a": 64.0, "b": -0.0}, {"a": 1e300}),
        *({"a": 2**53}, {"a": -(2**53) - 1}, {"a": 10**400}, {"a": math.nan}, {"a": math.inf}),
        *({"a": {"b": 1}, "c": [1]}, {"a": "x" * 99_999}, {"a": "\ud800"}, {"a": b"x"}),
        {str(at): at for at in range(5_000)},
    ],
    "allocation": [None, {"zone": " a "}, {"n": 2.0}, {"x": {}}, 5],
    "architecture": [
        *(None, {}, {"a": 1}, {"a": 1.5, "b": None}, {"a": "1"}, {"a": True}, {"a": 2**60}),
        *({"a": math.nan}, {"a": 1e300}, {"": 1}, {"a": [1]}, {"a": 10**400}, []),
    ],
    "duration_s": [None, -1, 0, math.inf, "1", 10**400],
    "cost_usd": [None, -0.5, 0, math.nan],
    "utilization": [None, 0, 1, 1.5, -0.1, 1.0000001, True],
    "ranking": [None, {}, {"ranking_id": " "}, {"preference": ["a", " b "]}, {"preference": 5}, 5],
}
WHOLES: list[Any] = [None, [], "text", 5, {}, {"detail": 1}]
RECORDS = [
    *({**attempt(), name: value} for name, values in ODD.items() for value in values),
    *({key: value for key, value in attempt().items() if key != name} for name in ODD),
    *WHOLES,
]


def alone(record: Any, now: int) -> str:
    try:
        return repr(parse_attempt(record, now))
    except FieldError as fault:
        return repr((fault.field, fault.rule, str(fault)))


def shown(parsed: Any) -> str:
    if isinstance(parsed, FieldError):
        return repr((parsed.field, parsed.rule, str(parsed)))
    return repr(parsed)


def agrees(records: list[Any]) -> None:
    arrived = [NOW + at for at in range(len(records))]
    together = parse_attempts(records, arrived)
    assert list(map(shown, together)) == list(map(alone, records, arrived))


@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_an_odd_record_is_what_it_is_alone_and_so_are_its_neighbours(record: Any) -> None:
    agrees([attempt(attempt_id="first"), record, attempt(attempt_id="last")])
    agrees([record])


@given(st.lists(st.sampled_from(RECORDS), max_size=12), st.randoms(use_true_random=False))
def test_any_records_together_are_what_they_are_alone(records: list[Any], chance: Any) -> None:
    mixed = [*records, *(attempt(attempt_id=f"plain-{at}") for at in range(4))]
    chance.shuffle(mixed)
    agrees(mixed)


def test_records_as_nearly_all_are_are_not_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def noted(record: Any, now: int) -> Any:
        asked.append(record)
        return parse_attempt(record, now)

    monkeypatch.setattr(by_column, "parse_attempt", noted)
    usual = {"config": {"lr": 0.1, "dropout": 0.0, "note": None, "fused": True, "steps": 5}}
    odd = attempt(job_name="naïve")
    plain = [attempt(attempt_id=f"a-{at}", **usual) for at in range(9)]
    assert len(parse_attempts([*plain, odd], [NOW] * 10)) == 10
    assert asked == [odd]


def test_no_records_are_no_attempts() -> None:
    assert parse_attempts([], []) == []


def test_each_is_judged_by_when_it_arrived_itself() -> None:
    late = attempt(completed_at=format_time(NOW + DAY_US + 1))
    first, second = parse_attempts([late, late], [NOW, NOW + DAY_US])
    assert isinstance(first, FieldError)
    assert first.field == "completed_at"
    assert not isinstance(second, FieldError)
