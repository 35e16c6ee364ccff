"""`leap demo --aws` shows the whole loop, and nothing is left of it, however it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.local_aws.paths import CHECKOUT
from tests.unit.local_aws.processes import eventually, told_of

LONGEST_S = 300
SMALL = ("--days", "6", "--per-day", "400")
NOBODY = {"AWS_PROFILE": "nobody", "AWS_ACCESS_KEY_ID": "AKIANOBODY", "AWS_REGION": "eu-west-1"}


def _demo(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A demo that finds no account of this machine's user, and whose temporary files are here."""
    temporary = folder / "tmp"
    temporary.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", "demo", "--aws", *options],
        cwd=CHECKOUT,
        env={**os.environ, **NOBODY, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def _left(folder: Path) -> list[str]:
    """Command lines that still run, and files that still lie there."""
    files = [str(path.relative_to(folder)) for path in (folder / "tmp").rglob("*")]
    return [*told_of(folder).values(), *files]


def test_the_whole_loop_is_shown_in_time_and_leaves_nothing(tmp_path: Path) -> None:
    started = time.monotonic()
    demo = _demo(tmp_path, "--keep", str(tmp_path / "kept"), *SMALL)
    said, _ = demo.communicate(timeout=2 * LONGEST_S)
    assert demo.returncode == 0, said
    assert time.monotonic() - started < LONGEST_S
    assert "sent 2,400 of 2,400, ten events a call" in said
    assert re.search(r"2,400 attempts in [\d,]+ objects of 6 days, such as\n +s3://", said)
    assert re.search(r"/leap/demo/throughput/pointer, not set before, names \d{4}-\d\d-\d\d-", said)
    assert "Preference, best first" in said
    assert "a-type-nobody-knows: unknown_hardware" in said
    assert "https://127.0.0.1:" in said
    assert _left(tmp_path) == []
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept >= {"aws.log", "cdk.log", "task-1.log", "fleet"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_demo_leaves_nothing_running(number: signal.Signals, tmp_path: Path) -> None:
    demo = _demo(tmp_path, *SMALL)
    assert demo.stdout is not None
    for line in demo.stdout:
        if line.startswith("2. cdk synth"):
            break
    assert eventually(lambda: any("infra.app" in line for line in told_of(tmp_path).values()))
    demo.send_signal(number)
    demo.communicate(timeout=LONGEST_S)
    assert demo.returncode != 0
    if number == signal.SIGKILL:  # then not even its own folder could be removed
        assert eventually(lambda: told_of(tmp_path) == {})
    else:
        assert eventually(lambda: _left(tmp_path) == []), _left(tmp_path)
