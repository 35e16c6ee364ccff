"""OpenMP settings: seconds of one fit of 60,000 rows, alone and beside a busy process a core."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COLUMNS = ("setting", "alone", "busy")
LIMIT_S = 150
SETTINGS = {
    "OpenMP's default": {},
    "OMP_WAIT_POLICY=PASSIVE": {"OMP_WAIT_POLICY": "PASSIVE"},
    "… and GOMP_SPINCOUNT=10000 (training sets both)": {
        "OMP_WAIT_POLICY": "PASSIVE",
        "GOMP_SPINCOUNT": "10000",
    },
    "OMP_NUM_THREADS=1": {"OMP_NUM_THREADS": "1"},
}
_FIT = """
import time, numpy
from sklearn.ensemble import HistGradientBoostingRegressor
draw = numpy.random.default_rng(0)
matrix = draw.normal(size=(60_000, 75))
target = matrix[:, 0] * 2 + numpy.sin(matrix[:, 1] * 3) + draw.normal(size=len(matrix))
fit = HistGradientBoostingRegressor(
    loss="absolute_error", max_iter=150, max_leaf_nodes=63, early_stopping=False)
started = time.perf_counter()
fit.fit(matrix, target)
print(time.perf_counter() - started)
"""


def run() -> list[tuple[object, ...]]:
    """Each setting in a process of its own."""
    rows: list[tuple[object, ...]] = []
    for name, settings in SETTINGS.items():
        alone = _seconds(settings)
        with _busy():
            rows.append((name, alone, _seconds(settings)))
    return rows


def _seconds(settings: dict[str, str]) -> str:
    own = {name: value for name, value in os.environ.items() if "OMP_" not in name}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _FIT],
            env=own | settings,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return f"over {LIMIT_S}"
    return f"{float(done.stdout):.1f}"


@contextmanager
def _busy() -> Iterator[None]:
    """One endless loop a core, each with an end of its own in case this process is killed."""
    loop = f"import time; end = time.time() + {LIMIT_S + 30}\nwhile time.time() < end: pass"
    cores = range(os.cpu_count() or 1)
    processes = [subprocess.Popen([sys.executable, "-c", loop]) for _ in cores]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
