"""Memory that a fit frees is kept, whatever its process was started with."""

import os
import platform
import subprocess
import sys

import pytest

_FAULTS = """
import ctypes, resource, sys, threading
import numpy as np
from functions.retrain.learning.allocation import keep_freed

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        held = [np.ones(1 << 16, np.float32) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def told():
    first = faults()
    keep_freed()
    faults()
    print(first, faults())

threading.Thread(target=told).start()  # as a worker of Dask runs what it is given
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
@pytest.mark.parametrize("threshold", ["65536", "1000000000"])
def test_arrays_are_not_asked_of_the_kernel_anew(threshold: str) -> None:
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": threshold}
    ran = subprocess.run(
        [sys.executable, "-c", _FAULTS], env=environment, capture_output=True, text=True, check=True
    )
    first, after = map(int, ran.stdout.split())
    # 800 arrays of 64 pages: without it nearly each page is new each time.
    assert first > 20_000
    assert after < 1_000
