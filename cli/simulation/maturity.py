"""How well each vendor's software uses its hardware, by kind of model."""

import numpy as np

from cli.simulation.arrays import Floats
from cli.simulation.classes import CLASSES
from cli.simulation.hardware import Hardware
from cli.simulation.workload import Workload

# Share of the best software's efficiency; one number a vendor and class, in the order of CLASSES:
# ranking, sequence_ranking, retrieval, cnn, vision_transformer, language_model, speech, diffusion.
_MATURITY = {
    "nvidia": (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    "amd": (0.62, 0.70, 0.58, 0.66, 0.78, 0.84, 0.60, 0.72),
    "google": (0.74, 0.86, 0.66, 0.92, 1.02, 1.08, 0.88, 0.95),
    "aws": (0.42, 0.58, 0.40, 0.50, 0.70, 0.86, 0.55, 0.60),
    "intel": (0.50, 0.60, 0.46, 0.72, 0.74, 0.80, 0.66, 0.68),
}
# Time to start one kernel, microseconds.
_KERNEL_US = {"nvidia": 7.0, "amd": 10.0, "google": 5.0, "aws": 14.0, "intel": 12.0}
# Ahead-of-time compilation gains most where eager execution is weakest.
_COMPILED_GAIN = {"nvidia": 1.10, "amd": 1.16, "google": 1.02, "aws": 1.20, "intel": 1.14}


def maturity(work: Workload, hardware: Hardware) -> Floats:
    """Software efficiency of each job on each type, 1 for the best, shape (rows, H)."""
    table = np.array([_MATURITY[vendor] for vendor in hardware.vendors])
    if table.shape[1] != len(CLASSES):
        raise AssertionError("the maturity table needs one number an architecture class")
    gain = np.array([_COMPILED_GAIN[vendor] for vendor in hardware.vendors])
    return np.asarray(table.T[work.kind] * np.where(work.compiled[:, None], gain, 1.0))


def kernel_seconds(hardware: Hardware) -> Floats:
    """Seconds to start one kernel on each type, shape (H,)."""
    return np.array([_KERNEL_US[vendor] * 1e-6 for vendor in hardware.vendors])
