"""Child processes that never outlive this one."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from cli.local_aws import guard
from cli.local_aws.errors import LocalAwsError

_LOOK_S = 0.2
_STOP_S = 6 * guard.GRACE_S
"""The guard asks, kills, waits for the last and removes a folder: long on a busy machine."""
_SHOWN = 12
"""Last lines of a log that a message quotes."""


class Process:
    """A command under a guard. What it prints goes to a file; ending the block ends it for sure.

    Parameters
    ----------
    command : sequence of str
        What to run.
    environment : mapping
        Its whole environment.
    log : Path
        Where its standard output and error go.
    folder : Path, optional
        Where to run it, by default here.
    remove : Path, optional
        A folder to remove when it has ended, whoever ended it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        folder: Path | None = None,
        remove: Path | None = None,
    ) -> None:
        self.log = log
        self._began = log.stat().st_size if log.exists() else 0
        guarded = [sys.executable, "-S", guard.__file__, "" if remove is None else str(remove)]
        with log.open("ab") as output:
            # A session of its own, so that Ctrl-C on the terminal reaches this process alone.
            self._guard = subprocess.Popen(  # noqa: S603
                [*guarded, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, None while it runs."""
        return self._guard.poll()

    def follow(self, watch: Callable[[str], None], longest_s: float | None = None) -> int:
        """The command's exit code, once `watch` was told every line that it said.

        Raises
        ------
        LocalAwsError
            It ran for longer than it may. It was ended.
        """
        deadline = None if longest_s is None else time.monotonic() + longest_s
        with self.log.open(encoding="utf-8", errors="replace") as said:
            said.seek(self._began)
            begun = ""
            while True:
                code = self._ended_soon()
                *lines, begun = (begun + said.read()).split("\n")
                for line in lines:
                    watch(line)
                if code is not None:
                    return code
                if deadline is not None and time.monotonic() > deadline:
                    self.stop()
                    raise LocalAwsError(f"it did not end within {longest_s:g} s:\n{self.said()}")

    def _ended_soon(self) -> int | None:
        try:
            return self._guard.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """End it and all that it started, if that has not happened."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        try:
            self._guard.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()

    def said(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_SHOWN:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
