"""Where a ranker gets its model and switches: a stage of a store, looked at now and then."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leap_model import limits
from leap_model.artifact import Artifact, load
from leap_model.errors import ModelUnavailableError
from leap_model.pointer import read_pointer
from leap_model.store import Store, checked_key
from leap_model.switches import EVERYONE, NOBODY, Switches, parse_switches

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """What a stage serves at one moment."""

    version: str
    artifact: Artifact
    switches: Switches


class StageSource:
    """The model that a stage points at, cached for `cache_s` seconds.

    A version that does not load leaves the last good one serving, and is tried again when the
    cache time is over; its failure is logged once.
    The stage `local` is a person's own folder: it has no switches unless they are asked for.
    """

    def __init__(
        self,
        store: Store,
        stage: str,
        *,
        switched: bool,
        cache_s: float = limits.POINTER_CACHE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._stage = stage
        self._switched = switched
        self._cache_s = cache_s
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._model: tuple[str, Artifact] | None = None
        self._switches = NOBODY
        self._faults = {"model": "", "switches": ""}

    def current(self) -> Serving:
        """What the stage serves now.

        Raises
        ------
        ModelUnavailableError
            Nothing usable is, or ever was, pointed at.
        """
        with self._lock:
            now = self._clock()
            if self._looked_at is None or now - self._looked_at >= self._cache_s:
                self._looked_at = now
                self._refresh()
            if self._model is None:
                raise ModelUnavailableError(self._faults["model"])
            return Serving(*self._model, self._switches)

    def _refresh(self) -> None:
        # Apart, so that switching off works while a model does not load, and the other way round.
        with self._keeping("switches"):
            self._switches = self._read_switches()
        with self._keeping("model"):
            self._model = self._read_model()

    @contextmanager
    def _keeping(self, part: str) -> Iterator[None]:
        """Whatever fails, what served last serves on: a launch must not wait for a repair."""
        try:
            yield
            self._faults[part] = ""
        except Exception as fault:
            if str(fault) != self._faults[part]:
                _log.warning("%s of stage %s not refreshed: %s", part, self._stage, fault)
            self._faults[part] = str(fault)

    def _read_model(self) -> tuple[str, Artifact]:
        pointer, _ = read_pointer(self._store, self._stage, "throughput")
        if pointer is None:
            raise ModelUnavailableError(f"the stage {self._stage} points at no model")
        if self._model is not None and self._model[0] == pointer.version:
            return self._model
        return pointer.version, load(self._store.folder(pointer.uri), pointer.manifest_sha256)

    def _read_switches(self) -> Switches:
        if not self._switched:
            return EVERYONE
        key = checked_key(f"pointers/{self._stage}/switches.json")
        return parse_switches(self._store.read(key))
