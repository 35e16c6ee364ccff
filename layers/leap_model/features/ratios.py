"""Ratios of what a job asks for to what a hardware type gives, all known before launch.

Trees split one column at a time, so products and quotients that physics cares about are given to
them ready-made. The bounds follow the roofline model (Williams, Waterman, Patterson, 2009): a job
runs no faster than its arithmetic, its memory traffic and its gradient exchange allow. They are
features, not predictions: constants only set how the limits compare with each other.
"""

import numpy as np

from leap_model.columns import Floats, Jobs, Labels
from leap_model.features.hardware import Hardware

READERS = ("data_readers", "num_readers", "readers", "num_workers", "dataloader_workers")
SEQUENCE = ("sequence_length", "seq_len", "max_seq_length", "max_sequence_length")
TENSOR_PARALLEL = ("tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size")
PIPELINE_PARALLEL = ("pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size")
PRECISION = ("precision", "dtype")

_TRAINING_OPERATIONS_PER_MAC = 6
"""Forward, and backward at twice the cost, of 2 operations a multiply-accumulate."""
_BYTES = 2
"""Of one value in 16-bit training."""
_ACTIVATION_PASSES = 4
"""An activation is written and read forward, read and its gradient written backward."""
_OPERATIONS_PER_BYTE = 150
"""About what accelerators have of both: it only sets types of unknown bandwidth beside others."""
_STATE_BYTES_PER_PARAMETER = 16
"""16-bit weight and gradient, 32-bit master copy and two moments (ZeRO, 2020)."""


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def ratio_columns(jobs: Jobs, hardware: Hardware) -> dict[str, Floats]:
    """Each column (n,), NaN where something that it needs is unknown, or it is not finite: one
    absurd record must not put an infinity into everyone's training."""
    per_host = per_host_of(jobs, hardware)
    accelerators = accelerators_of(jobs, hardware)
    total_batch = jobs.batch_size * jobs.num_trainers
    per_accelerator = _divide(total_batch, accelerators)
    readers = jobs.config.number(*READERS)
    parallel = _known(jobs.config.number(*TENSOR_PARALLEL), 1.0) * _known(
        jobs.config.number(*PIPELINE_PARALLEL), 1.0
    )
    columns = {
        "accelerators_per_host": per_host,
        "log_accelerators": np.log(accelerators),
        "total_batch": total_batch,
        "batch_per_accelerator": per_accelerator,
        "readers_per_trainer": readers / jobs.num_trainers,
        "readers_per_accelerator": readers / accelerators,
        "replicas": accelerators / parallel,
    }
    columns.update(_bounds(jobs, hardware, accelerators, total_batch, per_accelerator))
    table = np.empty((len(columns), len(jobs)))
    for row, values in zip(table, columns.values(), strict=True):
        row[:] = values
    np.copyto(table, np.nan, where=~np.isfinite(table))  # once for all: a ranking has few rows
    return dict(zip((f"ratio.{name}" for name in columns), table, strict=True))


def per_host_of(jobs: Jobs, hardware: Hardware) -> Floats:
    """(n,) accelerators a host, the catalogue's where the job does not say, NaN where neither."""
    stated = jobs.accelerators_per_host
    return np.where(np.isnan(stated), hardware.specification("accelerators_per_host"), stated)


def accelerators_of(jobs: Jobs, hardware: Hardware) -> Floats:
    """(n,) accelerators of each whole job."""
    return per_host_of(jobs, hardware) * jobs.num_trainers


def _bounds(
    jobs: Jobs, hardware: Hardware, accelerators: Floats, total_batch: Floats, batch: Floats
) -> dict[str, Floats]:
    """Throughput limits in samples per second, and shares of memory taken."""
    parameters = jobs.architecture.number("params_m") * 1e6
    activations = jobs.architecture.number("activations_m") * 1e6
    work = _work(jobs)
    peak = _peak(jobs, hardware) * 1e12
    memory = hardware.specification("memory_gb") * 1e9

    compute = _divide(accelerators * peak, work)
    traffic = _known(activations, 0.0) * _BYTES * _ACTIVATION_PASSES + _divide(
        parameters, batch
    ) * (_STATE_BYTES_PER_PARAMETER)
    bandwidth = _divide(
        accelerators * hardware.specification("memory_bandwidth_gb_s") * 1e9, traffic
    )
    link = _link(hardware, jobs.num_trainers)
    exchange = _divide(total_batch * link, 2 * parameters * _BYTES)
    exchange = np.where(accelerators > 1, exchange, np.nan)
    slowness = (
        _known(1.0 / compute, np.nan) + _known(1.0 / bandwidth, 0.0) + _known(1.0 / exchange, 0.0)
    )
    return {
        "work_gmacs": work / (_TRAINING_OPERATIONS_PER_MAC * 1e9),
        "compute_bound": compute,
        "memory_bound": bandwidth,
        "exchange_bound": exchange,
        "roofline": 1.0 / slowness,
        "log_peak": np.log(accelerators * peak),
        "log_rate": np.log(accelerators * np.sqrt(peak * _fed(peak, hardware))),
        "state_share_of_memory": parameters * _STATE_BYTES_PER_PARAMETER / memory,
        "activations_share_of_memory": activations * batch * _BYTES / memory,
        "operations_per_byte": work / traffic,
    }


def _work(jobs: Jobs) -> Floats:
    """Operations of one training sample; dense models without a count: parameters × sequence."""
    macs = jobs.architecture.number("gmacs") * 1e9
    sequence = jobs.config.number(*SEQUENCE)
    sequence = np.where(np.isnan(sequence), jobs.architecture.number(*SEQUENCE), sequence)
    dense = jobs.architecture.number("params_m") * 1e6 * _known(sequence, 1.0)
    return np.where(np.isnan(macs), dense, macs) * _TRAINING_OPERATIONS_PER_MAC


def _peak(jobs: Jobs, hardware: Hardware) -> Floats:
    """Operations per second, in tera, of one accelerator at the job's precision."""
    half = hardware.specification("peak_fp16_tflops")
    single = hardware.specification("peak_fp32_tflops")
    use_single = np.zeros(len(jobs), bool)
    for name in PRECISION:
        if name in jobs.config.by_name:
            use_single |= _says_single(jobs.config.by_name[name].labels)
            use_single |= jobs.config.by_name[name].numbers == 32
    wanted = np.where(use_single, single, half)
    return np.where(np.isnan(wanted), np.where(np.isnan(half), single, half), wanted)


def _says_single(precision: Labels) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    single = [text.casefold() in ("fp32", "float32", "32") for text in precision.values]
    return np.array([*single, False], bool)[precision.codes]


def _fed(peak: Floats, hardware: Hardware) -> Floats:
    """Operations per second that one accelerator's memory feeds, its peak where that is unknown."""
    bandwidth = hardware.specification("memory_bandwidth_gb_s") * 1e9
    return np.where(bandwidth > 0, bandwidth * _OPERATIONS_PER_BYTE, peak)


def _link(hardware: Hardware, num_trainers: Floats) -> Floats:
    """Bytes per second between accelerators: within a host, or across where there are several."""
    within = hardware.specification("scale_up_gb_s")
    across = hardware.specification("network_gb_s")
    across = np.where(np.isnan(across), within, across)
    link = np.where(num_trainers > 1, across, within) * 1e9
    return np.where(link > 0, link, np.nan)


def logarithm(values: Floats) -> Floats:
    """The natural logarithm, NaN where it is not finite."""
    return np.log(np.where((values > 0) & (values < np.inf), values, np.nan))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, NaN where it is not finite."""
    return _known(numerator / denominator, np.nan)


def _known(values: Floats, otherwise: float) -> Floats:
    """The values that are finite; an unknown limit does not limit, an unknown factor is 1."""
    return np.where(np.isfinite(values), values, otherwise)
