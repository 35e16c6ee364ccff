"""Time that the accelerators of a job spend exchanging gradients, activations and embeddings."""

import numpy as np

from cli.simulation.arrays import Floats, column
from cli.simulation.hardware import Hardware
from cli.simulation.workload import Workload

_EXPOSED = 0.6  # the rest hides behind the backward pass


def communication_seconds(work: Workload, hardware: Hardware, network_factor: Floats) -> Floats:
    """Seconds of one step that computing does not hide, shape (rows, H).

    `network_factor` (rows,) is the network bandwidth as a multiple of the catalogue's.
    """
    inside, between = _scale_up(work, hardware), _network(work, hardware, network_factor)
    return np.asarray(_EXPOSED * (inside + between))


def _gradient_bytes(work: Workload) -> Floats:
    return column(work.params_m * 4e6 / (work.tensor_parallel * work.pipeline_parallel))


def _scale_up(work: Workload, hardware: Hardware) -> Floats:
    """Between the accelerators of one host."""
    peers = (hardware.accelerators - 1) / hardware.accelerators
    samples = column(work.batch) / hardware.accelerators
    layers_shared = column(work.activations_m * 1e5 * (work.tensor_parallel - 1))
    moved = (
        _gradient_bytes(work)
        + samples * column(work.pooled_kb * 2e3)
        + samples * np.asarray(layers_shared)
    )
    return np.asarray(2 * peers * moved / (hardware.scale_up * 1e9))


def _network(work: Workload, hardware: Hardware, factor: Floats) -> Floats:
    """Between hosts; gradients are summed within the host first."""
    peers = column((work.trainers - 1) / work.trainers)
    moved = 2 * _gradient_bytes(work) + column(work.batch * work.pooled_kb * 2e3)
    return np.asarray(peers * moved / (hardware.network * column(factor) * 1e9))
