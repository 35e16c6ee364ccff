"""Runs a command that ends when whoever started it does, however that ended.

Run by its path, with nothing but the standard library: guard.py FOLDER COMMAND…
Its standard input is a pipe that its starter holds open and never writes to: the system closes it
even for one that was killed. The command and all it started are ended then, politely first, and
FOLDER, unless it is empty text, is removed with all that they left in it.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

GRACE_S = 5.0
"""Seconds between asking and killing."""
_LOOK_S = 0.02


def main(folder: str, *command: str) -> int:
    """The command's exit code; 128 and the number of the signal where one ended it."""
    told: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def end(number: int, _: object) -> None:
        told.append(number)
        for running in started:
            _begin(_end, running)

    # Before the command starts: whoever sees it run may tell this one to end it.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    # In a session, hence a process group, of its own: all of it can be told to end at once.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    started.append(child)
    if told:
        _begin(_end, child)
    _begin(_end_with_starter, child)
    code = child.wait()
    _tell(child.pid, signal.SIGKILL)  # what the command itself left behind
    if folder:
        _wait_for_all(child.pid)
        shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _wait_for_all(group: int) -> None:
    """Until none of the group is left: on a busy machine what was killed may still write a file."""
    deadline = time.monotonic() + GRACE_S
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(_LOOK_S)


def _end_with_starter(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    _tell(child.pid, signal.SIGTERM)
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _tell(child.pid, signal.SIGKILL)


def _begin(task: Callable[[subprocess.Popen[bytes]], None], child: subprocess.Popen[bytes]) -> None:
    threading.Thread(target=task, args=(child,), daemon=True).start()


def _tell(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of ended processes
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
