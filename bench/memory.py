"""What processes hold, looked at again and again while they work."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LOOK_S: Final = 0.5


class Looking:
    """The megabytes that `held` gives, twice a second: what lasts less is not seen."""

    def __init__(self, held: Callable[[], float]) -> None:
        self.megabytes: list[float] = []
        self._held = held
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while True:
            self.megabytes.append(self._held())
            if self._over.wait(_LOOK_S):
                return

    def __enter__(self) -> "Looking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def together_mb(process: int) -> float:
    """What a process and all that it started hold, shared pages counted once: proportional set
    size (Linux, /proc/PID/smaps_rollup)."""
    return sum(map(_proportional_mb, _family(process)))


def _family(process: int) -> list[int]:
    """The process and its descendants."""
    found, waiting = list[int](), [process]
    while waiting:
        found.append(one := waiting.pop())
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            waiting += map(int, _text(task).split())
    return found


def _proportional_mb(process: int) -> float:
    lines = _text(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return sum(float(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    """Empty where the process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
