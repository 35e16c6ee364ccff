"""A ranking by networks stays on the thread that asks: others would wait for cores."""

import os
import subprocess
import sys

import pytest

from leap_model.limits import MOST_CANDIDATES
from leap_model.network import Shape
from leap_model.stacked import MOST_ROWS

_ASKED = """
import sys, time
import numpy as np
from leap_model.model import Model
from leap_model.network import Shape
from tests.unit.leap_model.residual import network_of

rows, count = map(int, sys.argv[1:])
shape = Shape(tuple(range(100)), (0,), ((100, 3),), width=128, blocks=3, vector=12)
asked = Model.of_networks([network_of(shape, seed) for seed in range(count)], 101, None).checked()
matrix = np.random.default_rng(0).normal(size=(rows, 101))
asked.predict(matrix)
everyone, own = time.process_time(), time.thread_time()
for _ in range(10_000 // rows):
    asked.predict(matrix)
own = time.thread_time() - own
print((time.process_time() - everyone - own) / own)
"""


@pytest.mark.parametrize("rows", [20, MOST_ROWS, MOST_CANDIDATES])
@pytest.mark.parametrize("count", [1, 3])
def test_networks_are_asked_by_one_thread(rows: int, count: int) -> None:
    """Processor time of all other threads, over that of the one that asks."""
    ran = subprocess.run(
        [sys.executable, "-c", _ASKED, str(rows), str(count)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ran.stdout) < 0.05


@pytest.mark.parametrize("inputs", [1, 60, 250, 300, 5_000])
@pytest.mark.parametrize("width", [4, 128, 256, 1_024])
def test_a_slice_is_as_large_as_one_thread_is_given(inputs: int, width: int) -> None:
    shape = Shape(tuple(range(inputs)), (), (), width=width, blocks=1, vector=1)
    product = shape.slice_rows * max(inputs, width) * width
    assert 1 <= shape.slice_rows <= 8
    assert product <= 1 << 18 or shape.slice_rows == 1
