"""Ratios of what a job asks for to what a hardware type gives, all known before launch.

Trees split one column at a time, so products and quotients that physics cares about are given to
them ready-made. The bounds follow the roofline model (Williams, Waterman, Patterson, 2009): a job
runs no faster than its arithmetic, its memory traffic and its gradient exchange allow. They are
features, not predictions: constants only set how the limits compare with each other.
"""

from math import isfinite, isnan

import numpy as np

from leap_model.columns import Floats, Jobs, Number
from leap_model.features.hardware import Hardware

READERS = ("data_readers", "num_readers", "readers", "num_workers", "dataloader_workers")
SEQUENCE = ("sequence_length", "seq_len", "max_seq_length", "max_sequence_length")
TENSOR_PARALLEL = ("tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size")
PIPELINE_PARALLEL = ("pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size")
PRECISION = ("precision", "dtype")
_SINGLE = frozenset(("fp32", "float32", "32"))

_TRAINING_OPERATIONS_PER_MAC = 6
"""Forward, and backward at twice the cost, of 2 operations a multiply-accumulate."""
_BYTES = 2
"""Of one value in 16-bit training."""
_ACTIVATION_PASSES = 4
"""An activation is written and read forward, read and its gradient written backward."""
_STATE_BYTES_PER_PARAMETER = 16
"""16-bit weight and gradient, 32-bit master copy and two moments (ZeRO, 2020)."""

_NAMES = (
    *("log_accelerators", "log_peak", "log_rate"),
    *("compute_bound", "memory_bound", "exchange_bound", "roofline"),
    *("accelerators_per_host", "total_batch", "batch_per_accelerator", "replicas"),
    *("readers_per_trainer", "readers_per_accelerator", "work_gmacs", "operations_per_byte"),
    *("state_share_of_memory", "activations_share_of_memory"),
)
_COLUMNS = tuple(f"ratio.{name}" for name in _NAMES)
_LOGS, _BOUNDS, _ROOFLINE, _OTHERS = slice(0, 3), slice(3, 6), 6, slice(7, None)
_UNLIMITED = np.array([[np.nan], [0.0], [0.0]])
"""The slowness of an unknown bound: without a count of operations nothing is said."""


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def ratio_columns(jobs: Jobs, hardware: Hardware) -> dict[str, Floats]:
    """Each column (n,), NaN where something that it needs is unknown, or it is not finite: one
    absurd record must not put an infinity into everyone's training.

    Logs are natural. Bounds are throughput limits in samples per second, shares are of memory.
    """
    # Few rows are the rule, and there the time is that of each call of numpy: what is done to
    # several columns is done to them at once, and constants are the hardware's business.
    table = np.empty((len(_NAMES), len(jobs)))
    per_host = per_host_of(jobs, hardware)
    accelerators = per_host * jobs.num_trainers
    total_batch = jobs.batch_size * jobs.num_trainers
    batch = _finite(total_batch / accelerators)
    peak, mean = _peaks(jobs, hardware)
    memory, bandwidth = hardware.rates("memory", 2)

    logs = table[_LOGS]
    logs[0], logs[1], logs[2] = accelerators, accelerators * peak, accelerators * mean
    np.log(logs, out=logs)

    parameters = jobs.architecture.number("params_m") * 1e6
    activations = jobs.architecture.number("activations_m") * 1e6
    work = _work(jobs, parameters)
    state = parameters * _STATE_BYTES_PER_PARAMETER
    traffic = _known(activations, 0.0) * (_BYTES * _ACTIVATION_PASSES) + _finite(state / batch)
    bounds = table[_BOUNDS]
    bounds[0] = accelerators * peak / work
    bounds[1] = accelerators * bandwidth / traffic
    bounds[2] = total_batch * _link(jobs, hardware) / (parameters * (2 * _BYTES))
    np.copyto(bounds[2], np.nan, where=~(accelerators > 1))
    slowness = 1.0 / bounds
    # No more than a bound that is unknown does one limit that is not finite, or is not there.
    np.copyto(slowness, _UNLIMITED, where=~(np.isfinite(bounds) & np.isfinite(slowness)))
    table[_ROOFLINE] = 1.0 / (slowness[0] + slowness[1] + slowness[2])

    readers = jobs.config.number(*READERS)
    others = (
        *(per_host, total_batch, batch, accelerators / _parallel(jobs)),
        *(readers / jobs.num_trainers, readers / accelerators),
        *(work / (_TRAINING_OPERATIONS_PER_MAC * 1e9), work / traffic),
        *(state / memory, activations * batch * _BYTES / memory),
    )
    for row, values in zip(table[_OTHERS], others, strict=True):
        row[:] = values
    np.copyto(table, np.nan, where=~np.isfinite(table))
    return dict(zip(_COLUMNS, table, strict=True))


def per_host_of(jobs: Jobs, hardware: Hardware) -> Floats:
    """(n,) accelerators a host, the catalogue's where the job does not say, NaN where neither."""
    stated = jobs.accelerators_per_host
    return np.where(np.isnan(stated), hardware.specification("accelerators_per_host"), stated)


def accelerators_of(jobs: Jobs, hardware: Hardware) -> Floats:
    """(n,) accelerators of each whole job."""
    return per_host_of(jobs, hardware) * jobs.num_trainers


def _work(jobs: Jobs, parameters: Number) -> Number:
    """Operations of one training sample; dense models without a count: parameters × sequence."""
    macs = jobs.architecture.number("gmacs") * 1e9
    if np.isnan(macs).any():
        sequence = _else(jobs.config.number(*SEQUENCE), jobs.architecture.number(*SEQUENCE))
        macs = _else(macs, parameters * _known(sequence, 1.0))
    return macs * _TRAINING_OPERATIONS_PER_MAC


def _parallel(jobs: Jobs) -> Number:
    """Accelerators of one replica of the model."""
    tensor, pipeline = (
        jobs.config.number(*names) for names in (TENSOR_PARALLEL, PIPELINE_PARALLEL)
    )
    return _known(tensor, 1.0) * _known(pipeline, 1.0)


def _peaks(jobs: Jobs, hardware: Hardware) -> Floats:
    """(2, n) operations per second of one accelerator at the job's precision, and their mean with
    what its memory feeds."""
    single = jobs.config.says(PRECISION, _SINGLE, 32)
    return np.where(single, hardware.rates("single", 2), hardware.rates("half", 2))


def _link(jobs: Jobs, hardware: Hardware) -> Floats:
    """Bytes per second between accelerators: within a host, or across where there are several."""
    within, across = hardware.rates("within", 2)
    link: Floats = np.where(jobs.num_trainers > 1, across, within)
    return link


def logarithm(values: Floats) -> Floats:
    """The natural logarithm, NaN where it is not finite."""
    return np.log(np.where((values > 0) & (values < np.inf), values, np.nan))


def _else(values: Number, others: Number) -> Number:
    if isinstance(values, float) and isinstance(others, float):
        return others if isnan(values) else values
    return np.where(np.isnan(values), others, values)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _known(values: Number, otherwise: float) -> Number:
    """The values that are finite; an unknown limit does not limit, an unknown factor is 1."""
    if isinstance(values, float):
        return values if isfinite(values) else otherwise
    return np.where(np.isfinite(values), values, otherwise)
