"""From stored rows to columns: what is usable, when it was launched, what it ran on."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from functions.retrain.dataset import launches
from leap_model.limits import LEAST_THROUGHPUT
from leap_model.store import LocalStore
from leap_model.targets import TARGETS
from leap_model.times import parse_time
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import night, rows_between

FIRST, END = date(2026, 1, 1), date(2026, 2, 1)
NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "usable"),
    [
        *((value, False) for value in (None, 0.0, -0.0, -5.0, NAN, float("inf"), -float("inf"))),
        *((value, False) for value in (1e-320, 5e-324, LEAST_THROUGHPUT / 2)),
        *((value, True) for value in (LEAST_THROUGHPUT, 1e-3, 1.0, 1e300)),
    ],
)
def test_only_a_finite_positive_throughput_is_usable(value: float | None, usable: bool) -> None:
    (result,) = TARGETS["throughput"].usable(np.array([value], np.float64))
    assert (result == value) if usable else np.isnan(result)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "0", "-5", "null"])
def test_an_unusable_throughput_is_stored_and_left_out(store: LocalStore, value: str) -> None:
    from leap_model.intake import Counts, Record, take_in
    from tests.support import NOW

    filled(store.root, [attempt(attempt_id="good")])
    text = str(attempt(attempt_id="bad")).replace("'", '"').replace("1234.5", value)
    counts = Counts()
    take_in(store, [Record.of_json(text.encode())], counts, NOW)
    assert (counts.stored, counts.rejected) == (1, 0)
    rows = rows_between(store, FIRST, END)
    assert (len(rows), len(rows.usable())) == (2, 1)


def test_unusable_rows_are_counted_and_do_not_train(store: LocalStore) -> None:
    attempts = fleet(300)
    for at in range(0, 300, 30):
        attempts[at]["throughput"] = (None, 0, -1)[at // 30 % 3]
    filled(store.root, attempts)
    metrics = night(store)
    window = [a for a in attempts if a["completed_at"][:10] < "2026-01-10"]
    bad = [a for a in window if not a["throughput"] or a["throughput"] < 0]
    assert metrics["attempts"] == {"read": len(window), "unusable": len(bad)}
    assert metrics["rows"] == len(window) - len(bad)


DONE = "2026-01-05T10:00:00Z"


@pytest.mark.parametrize(
    ("launched_at", "duration_s", "launch"),
    [
        ("2026-01-05T08:00:00Z", None, "2026-01-05T08:00:00Z"),
        ("2026-01-05T08:00:00Z", 60, "2026-01-05T08:00:00Z"),
        (None, 3600, "2026-01-05T09:00:00Z"),
        (None, 0, DONE),
        (None, 0.5, "2026-01-05T09:59:59.500Z"),
        (None, None, DONE),
        ("2026-01-05T11:00:00Z", None, DONE),
        ("2027-01-01T00:00:00Z", 3600, DONE),
        (DONE, 3600, DONE),
    ],
)
def test_a_launch_falls_back_and_is_never_after_completion(
    store: LocalStore, launched_at: str | None, duration_s: float | None, launch: str
) -> None:
    filled(
        store.root,
        [attempt(completed_at=DONE, launched_at=launched_at, duration_s=duration_s)],
    )
    rows = rows_between(store, FIRST, END)
    assert rows.jobs.launched_at.tolist() == [parse_time(launch)]


def test_launches_of_many_rows_at_once() -> None:
    column = pa.chunked_array([pa.array([5, None, None, 99], pa.timestamp("us", "UTC"))])
    completed = np.array([10, 3_000_000, 20, 50], np.int64)
    result = launches(column, completed, np.array([np.nan, 1.0, np.nan, 1.0]))
    assert result.tolist() == [5, 2_000_000, 20, 50]


@pytest.mark.parametrize("duration_s", [1e13, 1e300])
def test_an_absurd_duration_does_not_overflow(store: LocalStore, duration_s: float) -> None:
    filled(store.root, [attempt(completed_at=DONE, duration_s=duration_s)])
    rows = rows_between(store, FIRST, END)
    assert rows.jobs.launched_at[0] <= parse_time(DONE)


def test_aliases_and_spellings_of_a_type_are_one_type(store: LocalStore) -> None:
    names = ["fast-8", "FAST", "fast", "ml.fast-8", " Fast-8 ", "mid-8", "MID-8"]
    attempts = [attempt(attempt_id=f"{at}", hardware_type=n) for at, n in enumerate(names)]
    filled(store.root, attempts)
    labels = rows_between(store, FIRST, END).jobs.hardware_type
    assert [labels.values[code] for code in labels.codes] == ["fast-8"] * 5 + ["mid-8"] * 2


def test_rows_of_an_alias_count_for_its_type(store: LocalStore) -> None:
    attempts = fleet(300)
    plain = filled(store.root / "plain", attempts)
    aliased = [
        {**a, "hardware_type": "Ml.Fast-8"} if a["hardware_type"] == "fast-8" else a
        for a in attempts
    ]
    other = filled(store.root / "aliased", aliased)
    assert night(plain)["manifest_sha256"] == night(other)["manifest_sha256"]


def test_unknown_hardware_is_kept_trained_on_and_reported(store: LocalStore) -> None:
    attempts = fleet(300)
    for at in range(100, 160):
        attempts[at]["hardware_type"] = "prototype-1"
    attempts[170]["hardware_type"] = "prototype-2"
    filled(store.root, attempts)
    metrics = night(store)
    assert metrics["unknown_hardware"] == {"prototype-1": 60, "prototype-2": 1}
    assert metrics["rows"] == sum(a["completed_at"][:10] < "2026-01-10" for a in attempts)


@pytest.mark.parametrize(
    ("values", "hours"),
    [
        ({"duration_s": 3600, "num_trainers": 2}, 16.0),
        ({"duration_s": 3600, "num_trainers": 2, "accelerators_per_host": 3}, 6.0),
        ({"duration_s": 1800, "num_trainers": 1, "hardware_type": "slow-4"}, 2.0),
        ({"duration_s": None}, NAN),
        ({"duration_s": 3600, "hardware_type": "unknown"}, NAN),
        ({"duration_s": 3600, "hardware_type": "unpriced-8"}, NAN),
    ],
)
def test_accelerator_hours_are_hosts_times_accelerators_times_hours(
    store: LocalStore, values: dict[str, Any], hours: float
) -> None:
    filled(store.root, [attempt(**values)])
    rows = rows_between(store, FIRST, END)
    assert rows.accelerator_hours.tolist() == pytest.approx([hours], nan_ok=True)


def test_the_launcher_s_own_family_counts_before_the_name(store: LocalStore) -> None:
    filled(
        store.root,
        [
            attempt(attempt_id="a"),
            attempt(attempt_id="b", job_name="resnet50-20260103-090000"),
            attempt(attempt_id="c", job_family="mine"),
            attempt(attempt_id="d", job_family=" "),
        ],
    )
    labels = rows_between(store, FIRST, END).jobs.family
    assert [labels.values[code] for code in labels.codes] == ["resnet50"] * 2 + ["mine", "resnet50"]
