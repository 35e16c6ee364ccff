"""What a process and all that it started hold, shared pages counted once."""

import threading
from pathlib import Path

_EVERY_S = 0.5


class Watched:
    """The most memory that a process and its descendants held at once, in megabytes.

    By proportional set size (Linux, /proc/PID/smaps_rollup), looked at twice a second: what lasts
    less is not seen.
    """

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            held = sum(_held_mb(pid) for pid in _family(self._pid))
            self.peak_mb = max(self.peak_mb, held)


def _family(pid: int) -> list[int]:
    """The process and its descendants."""
    found, waiting = list[int](), [pid]
    while waiting:
        found.append(one := waiting.pop())
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            waiting += map(int, _text(task).split())
    return found


def _held_mb(pid: int) -> float:
    lines = _text(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(float(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    """Empty where the process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
