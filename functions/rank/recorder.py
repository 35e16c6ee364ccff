"""Records a sample of the rankings, off the answering path.

A record waits in memory and a thread sends it. What cannot wait or be sent is dropped and counted:
no answer is later or other for it. Lambda stops the thread between invocations and starts it
again with the next one; records that wait when it ends an instance are lost.
"""

import queue
import threading
from collections.abc import Callable, Sequence

from functions.rank.record import Record, is_sampled
from functions.rank.telemetry import logger

_WAITING = 20
"""Records in memory at most: each may hold a request of 256 KB and its feature rows."""
_AT_ONCE = 10


class Recorder:
    """Hands a share of the records to `send`, which gives how many it did not get rid of."""

    def __init__(self, send: Callable[[Sequence[str]], int], share: float) -> None:
        self._send = send
        self._share = share
        self._waiting: queue.Queue[Record] = queue.Queue(_WAITING)
        self._lock = threading.Lock()
        self._dropped = 0
        self._thread: threading.Thread | None = None

    def offer(self, record: Record) -> None:
        """Keep a record to be sent, if its ranking is in the sample and there is room."""
        if not is_sampled(str(record.answer["ranking_id"]), self._share):
            return
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._drop(1)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
            self._thread.start()

    def take_dropped(self) -> int:
        """How many records were dropped since this was last asked."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        return dropped

    def _work(self) -> None:
        while True:
            records = [self._waiting.get()]
            while len(records) < _AT_ONCE and not self._waiting.empty():
                records.append(self._waiting.get())
            self._drop(self._unsent(records))

    def _unsent(self, records: Sequence[Record]) -> int:
        details: list[str] = []
        for record in records:
            try:
                details.append(record.to_json())
            except Exception as fault:
                logger.warning("a record is no JSON: %s", type(fault).__name__)
        try:
            failed = self._send(details) if details else 0
        except Exception as fault:
            logger.warning("records not sent: %s", type(fault).__name__)
            failed = len(details)
        return len(records) - len(details) + failed

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped += count
