"""Where a ranker gets its model and switches: a stage of a store, looked at now and then."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from leap_model import limits
from leap_model.artifact import Artifact, load
from leap_model.errors import ArtifactError, ModelUnavailableError
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import Store, checked_key
from leap_model.switches import EVERYONE, Switches, parse_switches

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """What a stage serves at one moment."""

    version: str
    artifact: Artifact
    switches: Switches


class StageSource:
    """The model that a stage points at, cached for `cache_s` seconds.

    A version that does not load leaves the last good one serving; its failure is logged once.
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
        self._serving: Serving | None = None
        self._failed: tuple[Pointer, str] | None = None
        self._fault = ""

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
            if self._serving is None:
                raise ModelUnavailableError(self._fault)
            return self._serving

    def _refresh(self) -> None:
        try:
            pointer, _ = read_pointer(self._store, self._stage, "throughput")
            if pointer is None:
                raise ModelUnavailableError(f"the stage {self._stage} points at no model")
            artifact = self._artifact(pointer)
            switches = self._switches()
            self._serving = Serving(pointer.version, artifact, switches)
        except Exception as fault:
            # Whatever it is, the last good model serves on: a launch must not wait for a repair.
            if str(fault) != self._fault:
                _log.warning("model not refreshed: %s", fault)
            self._fault = str(fault)

    def _artifact(self, pointer: Pointer) -> Artifact:
        if self._serving is not None and self._serving.version == pointer.version:
            return self._serving.artifact
        if self._failed is not None and self._failed[0] == pointer:
            raise ArtifactError(self._failed[1])
        try:
            return load(self._store.folder(pointer.uri), pointer.manifest_sha256)
        except ArtifactError as fault:
            self._failed = (pointer, str(fault))
            raise

    def _switches(self) -> Switches:
        if not self._switched:
            return EVERYONE
        return parse_switches(
            self._store.read(checked_key(f"pointers/{self._stage}/switches.json"))
        )
