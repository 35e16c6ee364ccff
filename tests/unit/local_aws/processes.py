"""Watching processes and ports from outside."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 15.0


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true before patience ends."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def number_in(file: Path) -> int:
    """The process number that a command writes to a file, once it is there."""
    assert eventually(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


def is_alive(process: int) -> bool:
    """Whether there is such a process that has not ended; one that nobody waited for has."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return _answers(process) if not Path("/proc/self/stat").exists() else False
    return state != "Z"


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def is_open(port: int) -> bool:
    """Whether something listens on 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
