"""Every line is an attempt as the contract describes it."""

import datetime as dt
import math
from typing import Any

import pytest

from cli.simulation import Summary

Attempt = dict[str, Any]
SCALAR = (str, int, float, bool, type(None))


def test_every_required_field_has_its_type(attempts: list[Attempt]) -> None:
    for attempt in attempts:
        assert 1 <= len(attempt["attempt_id"]) <= 256
        assert 1 <= len(attempt["job_name"]) <= 1024
        assert isinstance(attempt["model_type"], str)
        assert isinstance(attempt["hardware_type"], str)
        assert type(attempt["num_trainers"]) is int
        assert attempt["num_trainers"] >= 1
        assert attempt["batch_size"] > 0


def test_completion_is_in_the_day_of_the_file_and_after_the_launch(
    days: dict[str, list[Attempt]],
) -> None:
    for day, lines in days.items():
        completions = [attempt["completed_at"] for attempt in lines]
        assert all(completed.startswith(day) for completed in completions)
        assert completions == sorted(completions)
        for attempt in lines:
            launched, completed = _time(attempt["launched_at"]), _time(attempt["completed_at"])
            assert (completed - launched).total_seconds() == attempt["duration_s"]
            assert 600 <= attempt["duration_s"] <= 2 * 86_400


def test_objects_hold_scalars_only(attempts: list[Attempt]) -> None:
    for attempt in attempts:
        assert all(isinstance(value, SCALAR) for value in attempt["config"].values())
        assert set(attempt["allocation"]) == {"network_class", "zone", "server_sub_type"}
        assert all(type(value) in (int, float) for value in attempt["architecture"].values())


def test_stated_numbers_agree(attempts: list[Attempt], catalogue: list[Attempt]) -> None:
    entries = {entry["hardware_type"]: entry for entry in catalogue}
    for attempt in attempts:
        entry, hosts = entries[attempt["hardware_type"]], attempt["num_trainers"]
        hours = attempt["duration_s"] / 3600
        assert attempt["cost_usd"] == pytest.approx(
            entry["cost_per_hour"] * hosts * hours, abs=0.01
        )
        whole = attempt["config"].get("global_batch_size", hosts * attempt["batch_size"])
        assert whole == hosts * attempt["batch_size"]
        accelerators = entry["accelerators_per_host"]
        assert attempt.get("accelerators_per_host", accelerators) == accelerators


def test_measurements_are_missing_or_zero_as_often_as_in_a_real_fleet(
    attempts: list[Attempt],
) -> None:
    measured = [attempt["throughput"] for attempt in attempts]
    assert measured.count(None) / len(measured) == pytest.approx(0.01, abs=0.005)
    assert measured.count(0.0) / len(measured) == pytest.approx(0.005, abs=0.003)
    for attempt in attempts:
        if attempt["throughput"]:
            assert math.isfinite(attempt["throughput"])
            assert 0 <= attempt["utilization"] <= 1
        else:
            assert attempt["utilization"] is None


def test_few_families_are_stated_and_those_keep_their_name(attempts: list[Attempt]) -> None:
    stated = [attempt for attempt in attempts if "job_family" in attempt]
    assert 0.03 < len(stated) / len(attempts) < 0.25
    assert all(attempt["job_family"] in attempt["job_name"] for attempt in stated)
    assert len({attempt["job_family"] for attempt in stated}) < len(stated)


def test_summary_counts_what_was_written(summary: Summary, attempts: list[Attempt]) -> None:
    assert summary.attempts == len({attempt["attempt_id"] for attempt in attempts})
    assert summary.days == len(summary.files)
    assert summary.model_types == len({attempt["model_type"] for attempt in attempts})
    assert summary.hardware_types == len({attempt["hardware_type"] for attempt in attempts})
    assert summary.model_types < summary.families < summary.attempts


def _time(text: str) -> dt.datetime:
    return dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.UTC)
