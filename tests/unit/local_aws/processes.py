"""Watching processes and ports from outside."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
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
    except ProcessLookupError:  # it ended between opening and reading
        return False
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


def told_of(folder: Path) -> dict[int, str]:
    """Command lines, by process number, of the processes whose environment names a folder."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended, or is another user's
            if str(folder).encode() in (process / "environ").read_bytes():
                line = (process / "cmdline").read_bytes()
                found[int(process.name)] = line.replace(b"\0", b" ").decode()
    return found


def listening(process: int) -> set[str]:
    """The addresses, as the kernel writes them, that a process listens on."""
    inodes = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            inodes.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}
