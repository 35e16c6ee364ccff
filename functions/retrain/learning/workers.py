"""Many small fits at once, in processes that share the matrix, or on the workers of a cluster.

Processes and not threads: the threads of one fit meet some hundred times a tree, and each meeting
waits for the slowest. joblib maps large arrays from a file, so they are there once however many
processes read them, and gives each process the threads that it is told.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from functions.retrain.learning.cluster import Call, Cluster, Connection
from functions.retrain.learning.kept import Keeping, kept
from functions.retrain.learning.threads import cores
from functions.retrain.stages import peak_memory_mb
from leap_model.errors import TrainingError

_PARENT_CHECK_S = 1.0
_log = logging.getLogger(__name__)

FEWEST_ROWS = 5_000
"""Training rows below which starting processes costs more than they save."""

Processes: TypeAlias = int | Cluster | None
"""So many of this machine, one for each core (None), or those of a cluster."""


class Workers:
    """Runs calls in `count` processes, in this one where that is 1, or on a cluster's workers.

    With `keeping`, what an earlier run finished is read, and what this one finishes is kept.
    """

    def __init__(
        self,
        count: int,
        parallel: Any = None,
        keeping: Keeping | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.count = count
        self._parallel = parallel
        self._keeping = keeping
        self._connection = connection
        self._peaks: dict[object, float] = {}

    @property
    def alone(self) -> bool:
        """Whether calls are made by this process, and have its cores to themselves."""
        return self._parallel is None and self._connection is None

    @property
    def on_cluster(self) -> bool:
        """Whether calls are made by the workers of a cluster, with one thread each."""
        return self._connection is not None

    @property
    def peak_mb(self) -> float:
        """The most memory that each process held, all added; shared pages count in each."""
        return round(sum(self._peaks.values()), 1)

    def run(self, calls: Iterable[Call]) -> list[Any]:
        """The results in the order of the calls, which also begin in that order.

        Raises
        ------
        TrainingError
            A process was killed from outside, or the cluster was lost.
        """
        if self._keeping is None:
            return self._made(calls)
        keeping, every = self._keeping, list(calls)
        keys = [keeping.key(call) for call in every]
        results = [keeping.read(key) for key in keys]
        left = [at for at, result in enumerate(results) if result is None]
        if self._connection is None:
            made = self._made([(kept, keeping, keys[at], *every[at]) for at in left])
        else:
            made = self._kept_here(keeping, [(keys[at], every[at]) for at in left])
        for at, (result, _) in zip(left, made, strict=True):
            results[at] = result
        faults = [fault for _, fault in made if fault is not None]
        if faults:
            _log.warning("%d finished fits are not kept: %s", len(faults), faults[0])
        return results

    def _kept_here(
        self, keeping: Keeping, calls: list[tuple[str, Call]]
    ) -> list[tuple[Any, str | None]]:
        """Results of keys and calls, kept by this process: a cluster's need not reach the store."""
        faults: dict[int, str | None] = {}

        def finished(at: int, result: Any) -> None:
            faults[at] = keeping.write(calls[at][0], result)

        results = self._made([call for _, call in calls], finished)
        return [(result, faults[at]) for at, result in enumerate(results)]

    def here(self, call: Call) -> Any:
        """The result of one call in this process, which may take all the cores for itself."""
        return Workers(1, keeping=self._keeping).run([call])[0]

    def _made(
        self, calls: Iterable[Call], finished: Callable[[int, Any], None] | None = None
    ) -> list[Any]:
        if self._connection is not None:
            return self._collected(self._connection.run(list(calls), finished))
        if self._parallel is None:
            return [function(*arguments) for function, *arguments in calls]
        from joblib import delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            told = self._parallel(delayed(_told)(*call) for call in calls)
        except TerminatedWorkerError:
            raise TrainingError(
                f"one of {self.count} training processes was killed, most likely for want of "
                "memory; fewer of them need less (--processes)"
            ) from None
        return self._collected(told)

    def _collected(self, told: Iterable[tuple[object, float, Any]]) -> list[Any]:
        """The results; the peak of each process is noted."""
        results = []
        for process, peak, result in told:
            self._peaks[process] = max(peak, self._peaks.get(process, 0.0))
            results.append(result)
        return results


@contextmanager
def workers(rows: int, asked: Processes, keeping: Keeping | None = None) -> Iterator[Workers]:
    """As many processes as asked for, by default as there are cores, one where rows are few.

    Raises
    ------
    TrainingError
        A cluster was asked for, and cannot be had.
    """
    if isinstance(asked, Cluster):
        with asked.connected() as connection:
            yield Workers(connection.count, keeping=keeping, connection=connection)
        return
    count = asked or (cores() if rows >= FEWEST_ROWS else 1)
    if count == 1:
        yield Workers(1, keeping=keeping)
        return
    from joblib import Parallel, parallel_config
    from joblib.externals.loky import get_reusable_executor

    try:
        with (
            parallel_config("loky", n_jobs=count, inner_max_num_threads=1),
            Parallel(batch_size=1, pre_dispatch="all") as parallel,
        ):
            yield Workers(count, parallel, keeping)
    finally:  # joblib would keep them, and their memory, for another five minutes
        get_reusable_executor().shutdown(wait=True)


def _told(function: Callable[..., Any], *arguments: Any) -> tuple[int, float, Any]:
    _end_with_parent()
    result = function(*arguments)
    return os.getpid(), peak_memory_mb(), result


@cache
def _end_with_parent() -> None:
    """Once a process: a run that is killed must not leave its processes behind, which wait."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_CHECK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
