"""The fleet has the published fleet's shape."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cli.simulation.placement import NEWCOMER

Attempt = dict[str, Any]


def test_model_types_have_the_published_long_tail(attempts: list[Attempt]) -> None:
    runs = Counter(attempt["model_type"] for attempt in attempts)
    ordered = [count for _, count in runs.most_common()]
    assert sum(ordered[:19]) / len(attempts) == pytest.approx(0.37, abs=0.03)
    assert sum(ordered[:100]) / len(attempts) == pytest.approx(0.78, abs=0.03)
    assert 550 <= len(runs) <= 660  # the rarest may not have run yet


def test_throughput_spans_decades_but_most_of_it_two(attempts: list[Attempt]) -> None:
    logs = np.sort([np.log10(a["throughput"]) for a in attempts if a["throughput"]])
    assert logs[-1] - logs[0] > 5
    within_two = np.searchsorted(logs, logs + 2, side="right") - np.arange(len(logs))
    assert 0.8 < within_two.max() / len(logs) < 0.97
    low, high = np.quantile(logs, [0.05, 0.95])
    assert 50 < 10 ** (high - low) < 400


def test_truth_has_the_attempts_and_every_type(
    attempts: list[Attempt], catalogue: list[dict[str, Any]], truth: pa.Table
) -> None:
    types = [entry["hardware_type"] for entry in catalogue]
    assert truth.column_names == ["attempt_id", "hardware_type", *types]
    assert all(truth.schema.field(name).type == pa.float64() for name in types)
    used = dict(
        zip(truth["attempt_id"].to_pylist(), truth["hardware_type"].to_pylist(), strict=True)
    )
    assert used == {attempt["attempt_id"]: attempt["hardware_type"] for attempt in attempts}


def test_measured_throughput_scatters_around_the_truth(
    attempts: list[Attempt], truth: pa.Table
) -> None:
    expected = {row["attempt_id"]: row[row["hardware_type"]] for row in truth.to_pylist()}
    ratio = np.array(
        [a["throughput"] / expected[a["attempt_id"]] for a in attempts if a["throughput"]]
    )
    assert np.median(ratio) == pytest.approx(1, abs=0.01)
    assert 0.90 < np.mean(np.abs(1 / ratio - 1) <= 0.2) < 0.94  # the ceiling of w20
    assert 0.01 < np.mean(ratio < 0.6) < 0.04  # stragglers


def test_memory_rules_some_types_out(truth: pa.Table) -> None:
    nulls = [column.null_count for column in truth.columns[2:]]
    assert 0 < sum(nulls) < 0.5 * truth.num_rows * len(nulls)


def test_types_differ_and_no_single_one_is_best_per_dollar(
    catalogue: list[dict[str, Any]], truth: pa.Table
) -> None:
    cost = np.array([entry["cost_per_hour"] for entry in catalogue])
    speed = np.stack([column.to_numpy() for column in truth.columns[2:]], axis=1)
    best = np.nanargmax(speed / cost, axis=1)
    assert np.bincount(best).max() < 0.7 * len(best)
    assert np.median(np.nanstd(np.log(speed), axis=1)) > 0.3


def test_the_truth_knows_the_new_type_before_it_arrives(
    days: dict[str, list[Attempt]], truth: pa.Table
) -> None:
    first = {attempt["attempt_id"] for attempt in next(iter(days.values()))}
    known = [
        value
        for attempt, value in zip(
            truth["attempt_id"].to_pylist(), truth[NEWCOMER].to_pylist(), strict=True
        )
        if attempt in first and value is not None
    ]
    assert len(known) > 0.5 * len(first)
    assert all(value > 0 for value in known)


def test_every_attempt_ran_where_it_fits(truth: pa.Table) -> None:
    assert all(row[row["hardware_type"]] is not None for row in truth.to_pylist())


def test_runs_of_one_family_differ(attempts: list[Attempt]) -> None:
    """Else a table of past runs would say everything about the next one."""
    shapes: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for attempt in attempts:
        if "job_family" in attempt:
            size = attempt["architecture"]["params_m"]
            shape = (attempt["num_trainers"], attempt["batch_size"], size)
            shapes[attempt["job_family"]].append(shape)
    often = [runs for runs in shapes.values() if len(runs) >= 5]
    assert len(often) > 10
    shares = [len(set(runs)) / len(runs) for runs in often]
    assert 0.3 < np.mean(shares) < 0.95
    for part in range(3):
        assert any(len({shape[part] for shape in runs}) > 1 for runs in often)


def test_families_come_back_to_a_few_types(attempts: list[Attempt]) -> None:
    types: dict[str, set[str]] = defaultdict(set)
    for attempt in attempts:
        if "job_family" in attempt:
            types[attempt["job_family"]].add(attempt["hardware_type"])
    assert max(len(used) for used in types.values()) <= 6
    assert any(len(used) > 1 for used in types.values())


def test_a_new_type_arrives_in_the_middle(days: dict[str, list[Attempt]]) -> None:
    runs = [
        sum(attempt["hardware_type"] == NEWCOMER for attempt in lines) for lines in days.values()
    ]
    half = len(runs) // 2
    assert sum(runs[:half]) == 0
    assert all(count > 0 for count in runs[half:])
