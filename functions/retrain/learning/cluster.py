"""Fits on the workers of a Dask cluster: its own protocol, its own ways of losing a machine.

Features are made where the rows are, in one pass of numpy over columns. They go to each worker
once, in the parts that Dask makes of what is large.
"""

import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from functions.retrain.learning.allocation import keep_freed
from functions.retrain.learning.kept import made_by
from functions.retrain.stages import peak_memory_mb
from leap_model.errors import FieldError, TrainingError

CONNECT_S: Final = 30.0
"""How long a scheduler, and then its first worker, is waited for."""
ALONE_S: Final = 120.0
"""How long calls wait once no worker is left: one that is replaced comes back by then."""
_LOOK_S: Final = 5.0
_ADDRESS: Final = re.compile(r"(tcp|tls)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}")
_LOST: Final = "the Dask cluster was lost: its scheduler or all its workers are gone"
_SMALL: Final = (str, int, float, bool, type(None))

Call: TypeAlias = tuple[Any, ...]
"""A function of a module, then its arguments."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers of a Dask cluster, by its scheduler's address (tcp://host:port, or tls://).

    Certificates of a tls address are those that Dask's configuration names.
    """

    scheduler: str

    @contextmanager
    def connected(self) -> "Iterator[Connection]":
        """A connection, with workers that run this very code.

        Raises
        ------
        TrainingError
            There is no such cluster, or its workers would not learn the same.
        """
        try:
            from distributed import Client
        except ImportError:
            raise TrainingError(
                "the engine dask needs the package distributed, as in pip install leap[dask]"
            ) from None
        try:
            client = Client(self.scheduler, timeout=CONNECT_S)
        except (OSError, ValueError) as fault:
            why = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
            raise TrainingError(f"no Dask scheduler answers at {self.scheduler}: {why}") from None
        with client:
            yield Connection(client, _checked(client, self.scheduler))


def scheduler_address(text: str, field: str) -> str:
    """The address of a scheduler.

    Raises
    ------
    FieldError
        It is none.
    """
    if not _ADDRESS.fullmatch(text):
        raise FieldError(field, text, "tcp://HOST:PORT or tls://HOST:PORT")
    return text


class Connection:
    """Runs calls on `count` workers. What calls share is sent once."""

    def __init__(self, client: Any, count: int) -> None:
        self.count = count
        self._client = client
        self._sent: dict[int, tuple[Any, Any]] = {}
        self._seen = time.monotonic()

    def run(
        self, calls: Sequence[Call], finished: Callable[[int, Any], None] | None = None
    ) -> "list[Told]":
        """What the calls told, in their order; `finished` hears of each result as it comes.

        A call whose worker is lost is made again by another.

        Raises
        ------
        TrainingError
            Workers were killed over one call, none is left, or the scheduler is not.
        """
        from distributed import KilledWorker

        submit = self._client.submit
        code = made_by()
        futures = [submit(_told, code, *map(self._argument, call), pure=False) for call in calls]
        places = {future: at for at, future in enumerate(futures)}
        told: dict[int, Told] = {}
        self._seen = time.monotonic()
        try:
            while places:
                for future in self._done(list(places)):
                    at = places.pop(future)
                    told[at] = future.result()
                    if finished is not None:
                        finished(at, told[at].result)
        except KilledWorker:
            raise TrainingError(
                "workers of the Dask cluster were killed over one fit, most likely for want of "
                "memory"
            ) from None
        finally:
            self._client.cancel(list(places))
        return [told[at] for at in range(len(calls))]

    def _done(self, futures: list[Any]) -> Any:
        """Those that are done, at least one where it is not too soon to look again.

        Raises
        ------
        TrainingError
            Nobody is there to finish them.
        """
        from distributed import CancelledError, wait

        try:
            done = wait(futures, timeout=_LOOK_S, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        except CancelledError:  # as all of a scheduler that is gone are
            raise TrainingError(_LOST) from None
        try:
            seen = bool(done) or bool(self._client.scheduler_info()["workers"])
        except OSError:
            raise TrainingError(_LOST) from None
        now = time.monotonic()
        if seen:
            self._seen = now
        elif now - self._seen > ALONE_S:
            raise TrainingError(f"the Dask cluster has had no worker for {ALONE_S:,.0f} s")
        return done

    def _argument(self, value: Any) -> Any:
        """Data once for all calls: the object itself is held, so that its id stays its own."""
        if isinstance(value, _SMALL) or callable(value):
            return value
        if id(value) not in self._sent:
            try:
                future = self._client.scatter(value, broadcast=True, hash=False)
            except (OSError, TimeoutError):
                raise TrainingError(_LOST) from None
            self._sent[id(value)] = (value, future)
        return self._sent[id(value)][1]


class Told(NamedTuple):
    """What a call came to, and the most memory that its process ever held."""

    process: str
    peak_mb: float
    result: Any


def _told(code: str, function: Callable[..., Any], *arguments: Any) -> Told:
    # Asked anew with each call: workers come and go.
    unfit = _unfit(code)
    if unfit is not None:
        raise TrainingError(f"a worker of the Dask cluster {unfit}")
    keep_freed()
    result = function(*arguments)
    return Told(f"{socket.gethostname()}:{os.getpid()}", peak_memory_mb(), result)


def _unfit(code: str, dask_worker: Any = None) -> str | None:
    """Why this worker would not learn the same as one of some code; None where it would.

    `dask_worker` is the worker, which Dask gives to what is asked of all of them.
    """
    from distributed import get_worker

    if made_by() != code:
        return "runs another LEAP, numpy or scikit-learn than the run that asks it"
    threads = (dask_worker or get_worker()).state.nthreads
    if threads != 1:
        # How many a product of matrices takes is set for the whole process.
        return f"has {threads} threads, and needs to have one (--nthreads 1)"
    return None


def _checked(client: Any, scheduler: str) -> int:
    """How many workers there are.

    Raises
    ------
    TrainingError
        There is none, or one that would learn something else.
    """
    cluster = f"the Dask cluster at {scheduler}"
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
        told = client.run(_unfit, made_by())
    except TimeoutError:
        raise TrainingError(f"{cluster} has no worker") from None
    except Exception as fault:  # whatever one without the code answers
        raise TrainingError(f"a worker of {cluster} has no LEAP: {fault}") from None
    unfit = next((why for why in told.values() if why is not None), None)
    if unfit is not None:
        raise TrainingError(f"a worker of {cluster} {unfit}")
    return len(told)
