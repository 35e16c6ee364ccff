"""Calls that tell on the process that runs them; workers import them from here."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from functions.retrain.learning.estimator import TrainingSet


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def same_after(seconds: float, value: Any) -> Any:
    time.sleep(seconds)
    return value


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(fault: Exception) -> None:
    raise fault


def openmp_threads() -> set[int]:
    """The threads that a fit here would use."""
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_info

    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


def matrix_of(training: TrainingSet) -> tuple[str, bool, bool]:
    """The file that the matrix is mapped from, whether it can be written to, and its order."""
    matrix: Any = training.matrix
    name = str(matrix.filename) if isinstance(matrix, np.memmap) else ""
    return name, matrix.flags.writeable, matrix.flags.f_contiguous


def linger(folder: str, seconds: float) -> None:
    """Leave this process's id in a folder, and stay."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(seconds)


def fail_late(seconds: float) -> None:
    time.sleep(seconds)
    raise ValueError("late")
