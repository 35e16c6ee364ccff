"""A Dask cluster on this machine, by Dask's own commands, that ends with whoever asked for it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_ROOT = Path(__file__).parents[1]
_STARTED_S = 120.0


@contextmanager
def cluster(workers: int, threads: int = 1, nanny: bool = True) -> Iterator[str]:
    """The address of a scheduler with so many workers, once all of them are there."""
    with TemporaryDirectory(prefix="leap-dask-") as folder:
        file = Path(folder) / "scheduler.json"
        common = ("--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard")
        kept = ("--local-directory", folder, "--nanny" if nanny else "--no-nanny")
        processes = [_started("scheduler", *common, "--port", "0")]
        try:
            for _ in range(workers):
                options = ("--nthreads", str(threads), "--death-timeout", "60")
                processes.append(_started("worker", *common, *kept, *options))
            yield _address(file, workers)
        finally:
            end(list(reversed(processes)))


def end(processes: Sequence[subprocess.Popen[bytes]], patience_s: float = 30.0) -> None:
    """End processes; by force those that do not by themselves, since a worker of Dask that is told
    to while it starts may wait for ever."""
    for process in processes:
        process.terminate()
    patient = time.monotonic() + patience_s
    for process in processes:
        try:
            process.wait(max(patient - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _started(what: str, *options: str) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", f"distributed.cli.dask_{what}", *options)
    path = os.pathsep.join((str(_ROOT / "layers"), str(_ROOT)))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


def _address(file: Path, workers: int) -> str:
    from distributed import Client

    end = time.monotonic() + _STARTED_S
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.1)
    # By Dask, which reads again what is still being written.
    with Client(scheduler_file=str(file), timeout=_STARTED_S) as client:
        if workers:
            client.wait_for_workers(workers, timeout=_STARTED_S)
        return str(client.scheduler.address)
