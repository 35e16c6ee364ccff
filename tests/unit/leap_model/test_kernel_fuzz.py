"""A few seconds of `make fuzz`: random forests, sound and damaged, under sanitizers."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_random_forests_score_alike_and_touch_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.fuzz", "3", "1"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 2:
        pytest.skip("no compiler with sanitizers is here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all alike" in done.stdout
