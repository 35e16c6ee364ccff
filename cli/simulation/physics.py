"""From a workload and a machine to the time of one training step.

Every function takes workloads as rows and hardware types as columns: arrays of shape (rows, H).
"""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Bools, Floats, column
from cli.simulation.classes import constant
from cli.simulation.communication import communication_seconds
from cli.simulation.hardware import Hardware
from cli.simulation.maturity import kernel_seconds, maturity
from cli.simulation.workload import BF16, FP8, FP32, Workload

_USABLE_MEMORY = 0.92
_RESERVED_GB = 1.5  # runtime, buffers, fragmentation
_STATE_BYTES = 16  # per dense parameter: weight, gradient, master copy, two moments
_EMBEDDING_BYTES = 4.5  # per embedding parameter, with a row-wise moment
_SHARDED_FROM_M = 1000  # from here on dense state is spread over all accelerators
_USABLE_BANDWIDTH = 0.7
_STORAGE_RATE = 3e6  # samples per second that one data set's storage delivers, to any readers


@dataclass(frozen=True)
class StepTime:
    """Seconds of one step: on the device, as delivered by the readers, and computing only."""

    device: Floats
    readers: Floats
    compute: Floats


def fits_memory(work: Workload, hardware: Hardware) -> Bools:
    """Whether each job fits each type's memory, shape (rows, H)."""
    total = column(work.trainers) * hardware.accelerators
    split = column(work.tensor_parallel * work.pipeline_parallel)
    shards = np.where(column(work.params_m) >= _SHARDED_FROM_M, np.maximum(total, split), split)
    kept = column(work.activations_m * np.where(work.checkpointing, 0.2, 1.0) * 2e-3)
    need = (
        _RESERVED_GB
        + column(work.params_m) * _STATE_BYTES * 1e-3 / shards
        + column(work.embedding_params_m) * _EMBEDDING_BYTES * 1e-3 / total
        + kept * _micro_batch(work, hardware) / split
    )
    return np.asarray(need <= hardware.memory_gb * _USABLE_MEMORY)


def step_time(work: Workload, hardware: Hardware, network_factor: Floats) -> StepTime:
    """Time of one step of every job on every type.

    Parameters
    ----------
    work : Workload
        Jobs, (rows,).
    hardware : Hardware
        Types, (H,).
    network_factor : float array (rows,)
        Network bandwidth provisioned, as a multiple of the catalogue's.

    Returns
    -------
    StepTime
        Seconds, shape (rows, H) each; `readers` has shape (rows, 1).
    """
    compute = _compute(work, hardware)
    memory = _memory(work, hardware)
    communication = communication_seconds(work, hardware, network_factor)
    # Overlapping demands: the slowest decides, the others still cost a little.
    overlapped = (compute**3 + memory**3 + communication**3) ** (1 / 3)
    device = overlapped / column(work.software) + _latency(work, hardware)
    delivered = np.minimum(work.readers * work.reader_rate, _STORAGE_RATE)
    readers = column(work.trainers * work.batch / delivered)
    return StepTime(device=device, readers=readers, compute=compute)


def _micro_batch(work: Workload, hardware: Hardware) -> Floats:
    """Samples that one model replica computes at once."""
    replica = work.tensor_parallel * work.pipeline_parallel / work.accumulation
    return column(work.batch * replica) / hardware.accelerators


def _peak(work: Workload, hardware: Hardware) -> Floats:
    """TFLOP/s of one accelerator at the precision of each job."""
    precision = work.precision[:, None]
    modern = hardware.release_year >= 2020
    bf16 = np.where(modern | (hardware.vendor != hardware.vendor_names.index("nvidia")), 1.0, 0.5)
    fp8 = np.where(hardware.release_year >= 2022, 1.5, bf16)
    half = hardware.peak_fp16 * np.select([precision == BF16, precision == FP8], [bf16, fp8], 1.0)
    # Single precision runs on the matrix units at reduced precision where there are any.
    single = np.maximum(hardware.peak_fp32, np.where(modern, 0.4, 0.0) * hardware.peak_fp16)
    return np.asarray(np.where(precision == FP32, single, half))


def _compute(work: Workload, hardware: Hardware) -> Floats:
    peak = _peak(work, hardware)
    half_batch = column(constant("half_batch", work.kind)) * np.sqrt(peak / 100)
    micro = _micro_batch(work, hardware)
    efficiency = (
        column(constant("peak_share", work.kind))
        * maturity(work, hardware)
        * micro
        / (micro + half_batch)
    )
    passes = 3 + column(np.where(work.checkpointing, 1.0, 0.0))
    flops = 2e9 * passes * column(work.gmacs * work.batch) / hardware.accelerators
    in_flight = 4 * work.accumulation
    bubble = (in_flight + work.pipeline_parallel - 1) / in_flight
    return np.asarray(flops / (peak * 1e12 * efficiency) * column(bubble))


def _memory(work: Workload, hardware: Hardware) -> Floats:
    samples = column(work.batch) / hardware.accelerators
    width = column(np.where(work.precision == FP32, 4.0, 2.0))
    weights = work.params_m * 24e6 / (work.tensor_parallel * work.pipeline_parallel)
    reuse = column(np.where(work.compiled, 2.5, 4.0))  # fused operators write less back
    moved = (
        samples * column(work.activations_m * 1e6) * width * reuse
        + column(weights)
        + samples * column(work.pooled_kb) * 1e3 * 3
    )
    return np.asarray(moved / (hardware.memory_bandwidth * 1e9 * _USABLE_BANDWIDTH))


def _latency(work: Workload, hardware: Hardware) -> Floats:
    kernels = work.layers * 30 * work.accumulation * np.where(work.compiled, 0.45, 1.0)
    synchronising = 0.6e-3 * np.log2(1 + work.trainers)
    return np.asarray(column(kernels) * kernel_seconds(hardware) + column(synchronising))
