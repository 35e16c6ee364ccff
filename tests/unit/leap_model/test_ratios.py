"""Ratios of what a job asks for to what a type gives: by hand, and where things are unknown."""

from typing import Any

import numpy as np
import pytest

from leap_model.catalogue import parse_catalogue
from leap_model.features import raw_columns
from leap_model.history import no_history
from tests.unit.leap_model.builders import jobs_of


def ratios(catalogue: list[dict[str, Any]], **row: Any) -> dict[str, float]:
    """Every number column of one job."""
    raw = raw_columns(jobs_of([row]), no_history(1), parse_catalogue(catalogue))
    numbers = {name: values for name, values in raw.items() if isinstance(values, np.ndarray)}
    return {name: float(values[0]) for name, values in numbers.items()}


GPU = {
    "hardware_type": "gpu",
    "peak_fp16_tflops": 100,
    "peak_fp32_tflops": 25,
    "memory_gb": 32,
    "memory_bandwidth_gb_s": 800,
    "scale_up_gb_s": 300,
    "network_gb_s": 50,
    "accelerators_per_host": 4,
}
JOB: dict[str, Any] = {
    "hardware_type": "gpu",
    "num_trainers": 2,
    "batch_size": 64,
    "config": {"data_readers": 16, "precision": "bf16"},
    "architecture": {"params_m": 100, "activations_m": 10, "gmacs": 5},
}


def test_ratios_by_hand() -> None:
    found = ratios([GPU], **JOB)
    work = 5e9 * 6  # operations a sample
    compute = 8 * 100e12 / work
    traffic = 10e6 * 2 * 4 + 100e6 / 16 * 16  # bytes a sample
    memory = 8 * 800e9 / traffic
    exchange = 128 * 50e9 / (2 * 100e6 * 2)
    expected = {
        "ratio.accelerators_per_host": 4,
        "ratio.total_batch": 128,
        "ratio.batch_per_accelerator": 16,
        "ratio.readers_per_trainer": 8,
        "ratio.readers_per_accelerator": 2,
        "ratio.replicas": 8,
        "ratio.work_gmacs": 5,
        "ratio.compute_bound": compute,
        "ratio.memory_bound": memory,
        "ratio.exchange_bound": exchange,
        "ratio.roofline": 1 / (1 / compute + 1 / memory + 1 / exchange),
        "ratio.state_share_of_memory": 100e6 * 16 / 32e9,
        "ratio.activations_share_of_memory": 10e6 * 16 * 2 / 32e9,
        "ratio.operations_per_byte": work / traffic,
        "ratio.log_peak": np.log(8 * 100e12),
        "ratio.log_rate": np.log(8 * np.sqrt(100e12 * 800e9 * 150)),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "name", "factor"),
    [
        ({"config": {"precision": "fp32"}}, "ratio.compute_bound", 1 / 4),
        ({"config": {"dtype": "Float32"}}, "ratio.compute_bound", 1 / 4),
        ({"accelerators_per_host": 8}, "ratio.compute_bound", 2),
        ({"num_trainers": 4}, "ratio.compute_bound", 2),
        ({"num_trainers": 4}, "ratio.total_batch", 2),
        ({"num_trainers": 1}, "ratio.exchange_bound", 3),  # half the batch, six times the link
        ({"config": {"tensor_parallel": 4, "pipeline_parallel": 2}}, "ratio.replicas", 1 / 8),
        ({"config": {"num_workers": 8}}, "ratio.readers_per_trainer", 1 / 2),
        ({"batch_size": 32}, "ratio.batch_per_accelerator", 1 / 2),
    ],
)
def test_ratios_follow_the_job(changes: dict[str, Any], name: str, factor: float) -> None:
    base, changed = ratios([GPU], **JOB), ratios([GPU], **JOB | changes)
    assert changed[name] / base[name] == pytest.approx(factor)


def test_dense_models_without_a_count_of_operations_are_estimated_by_their_size() -> None:
    found = ratios([GPU], **JOB | {"architecture": {"params_m": 100}, "config": {"seq_len": 512}})
    assert found["ratio.work_gmacs"] == pytest.approx(100e6 * 512 / 1e9)


@pytest.mark.parametrize(
    ("unknown", "names"),
    [
        ("peak_fp16_tflops", []),  # the other peak stands in
        ("memory_gb", ["state_share_of_memory", "activations_share_of_memory"]),
        ("memory_bandwidth_gb_s", ["memory_bound"]),
        ("network_gb_s", []),  # the link within stands in
        ("accelerators_per_host", ["batch_per_accelerator", "compute_bound", "roofline"]),
    ],
)
def test_an_unknown_specification_makes_its_ratios_unknown(unknown: str, names: list[str]) -> None:
    lacking = {name: value for name, value in GPU.items() if name != unknown}
    found, full = ratios([lacking], **JOB), ratios([GPU], **JOB)
    known = {name for name, value in full.items() if not np.isnan(value)}
    lost = {name for name in known if name.startswith("ratio.") and np.isnan(found.get(name, 0))}
    assert lost >= {f"ratio.{name}" for name in names}
    assert bool(lost) == bool(names)


@pytest.mark.parametrize("bandwidth", [None, 0])
def test_a_type_of_unknown_bandwidth_has_its_peak_for_a_rate(bandwidth: float | None) -> None:
    found = ratios([{**GPU, "memory_bandwidth_gb_s": bandwidth}], **JOB)
    assert found["ratio.log_rate"] == pytest.approx(found["ratio.log_peak"])


def test_the_rate_of_a_type_is_unknown_where_its_peak_is() -> None:
    lacking = {name: value for name, value in GPU.items() if not name.startswith("peak")}
    assert np.isnan(ratios([lacking], **JOB)["ratio.log_rate"])


@pytest.mark.parametrize(
    "row",
    [
        {},
        JOB | {"hardware_type": "elsewhere"},
        {"hardware_type": "bare"},
        JOB | {"hardware_type": "zero"},
        JOB | {"architecture": {"params_m": 0, "activations_m": 0, "gmacs": 0}},
        JOB | {"architecture": {"params_m": -5, "gmacs": -1}},
        JOB | {"architecture": dict.fromkeys(("params_m", "activations_m", "gmacs"), 1e308)},
        JOB | {"batch_size": 1e308, "num_trainers": 1e6},
        JOB | {"batch_size": 5e-324},
        JOB | {"config": {"data_readers": 0, "tensor_parallel": 0}},
    ],
)
def test_odd_jobs_and_unknown_types_give_no_warning(row: dict[str, Any]) -> None:
    zero = {name: 0 if name != "hardware_type" else "zero" for name in GPU}
    found = ratios([GPU, zero, {"hardware_type": "bare"}], **row)
    if row.get("hardware_type") in ("elsewhere", "bare"):
        assert np.isnan(found["ratio.compute_bound"])
        assert np.isnan(found["ratio.roofline"])


@pytest.mark.parametrize(
    "changes",
    [
        {"accelerators_per_host": 1e308},
        {"batch_size": 1e308},
        {"architecture": {"params_m": 1, "gmacs": 1e308}},
        {"architecture": {"params_m": 1, "gmacs": -1e308}},
    ],
    ids=str,
)
def test_every_ratio_is_finite_or_missing(changes: dict[str, Any]) -> None:
    found = ratios([GPU], **JOB | {"num_trainers": 1_000_000} | changes)
    assert not [name for name, value in found.items() if np.isinf(value)]
