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
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import Store
from leap_model.switches import EVERYONE, NOBODY, Switches, parse_switches, switches_key
from leap_model.targets import TARGETS

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Versioned:
    """An artifact under the name that the pointer gives it."""

    version: str
    artifact: Artifact


@dataclass(frozen=True, slots=True)
class Serving:
    """What a stage serves at one moment. `utilization` is None where that target has no model."""

    throughput: Versioned
    utilization: Versioned | None
    switches: Switches

    def versions(self) -> dict[str, str]:
        """The version of each target that has a model."""
        models = {"throughput": self.throughput, "utilization": self.utilization}
        return {target: model.version for target, model in models.items() if model is not None}


class StageSource:
    """The models that a stage points at, cached for `cache_s` seconds.

    When they are over, the next ranking looks again, in a thread of its own, and waits for that
    at most `limits.REFRESH_WAIT_S`: enough for a pointer and switches, not for a download. What
    takes longer goes on beside the rankings, which the last good version answers meanwhile. Only
    where there is no model yet does a ranking wait for all of it.
    A version that does not load leaves the last good one serving, and is tried again when the
    cache time is over; its failure is logged once.
    The stage `local` is a person's own folder: it has no switches unless they are asked for.
    A stage's pointer lies in the store unless `pointer_of` says where it is, by target.

    Attributes
    ----------
    failures : int
        How often a model could not be loaded or looked for since the source was made.
    """

    def __init__(
        self,
        store: Store,
        stage: str,
        *,
        switched: bool,
        cache_s: float = limits.POINTER_CACHE_S,
        pointer_of: Callable[[str], Pointer | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = 0
        self._pointer_of = pointer_of or (lambda target: read_pointer(store, stage, target)[0])
        self._store = store
        self._stage = stage
        self._switched = switched
        self._cache_s = cache_s
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._looking: threading.Thread | None = None
        self._models: dict[str, Versioned | None] = dict.fromkeys(TARGETS)
        self._switches = NOBODY
        self._faults = dict.fromkeys(("switches", *TARGETS), "")

    def current(self) -> Serving:
        """What the stage serves now.

        Raises
        ------
        ModelUnavailableError
            Nothing usable is, or ever was, pointed at.
        """
        look = self._look()
        if look is not None:
            look.join(None if self._models["throughput"] is None else limits.REFRESH_WAIT_S)
        throughput = self._models["throughput"]
        if throughput is None:
            raise ModelUnavailableError(self._faults["throughput"])
        return Serving(throughput, self._models["utilization"], self._switches)

    def _look(self) -> threading.Thread | None:
        """The look that is under way, or due now; the one before is never overtaken."""
        with self._lock:
            now = self._clock()
            # A thread that a fork left behind in the parent counts as ended here.
            under_way = self._looking is not None and self._looking.is_alive()
            due = self._looked_at is None or now - self._looked_at >= self._cache_s
            if due and not under_way:
                self._looked_at = now
                self._looking = None
                look = threading.Thread(target=self._refresh, name="leap-look", daemon=True)
                try:
                    look.start()
                    self._looking = look
                except RuntimeError as fault:  # the process has no thread to spare
                    self._failed("throughput", fault)
                return self._looking
            return self._looking if self._models["throughput"] is None else None

    def _refresh(self) -> None:
        # Apart, so that switching off works while a model does not load, and the other way round.
        with self._keeping("switches"):
            self._switches = self._read_switches()
        for target in TARGETS:
            with self._keeping(target):
                self._models[target] = self._read_model(target)

    @contextmanager
    def _keeping(self, part: str) -> Iterator[None]:
        """Whatever fails, what served last serves on: a launch must not wait for a repair."""
        try:
            yield
            self._faults[part] = ""
        except Exception as fault:
            self._failed(part, fault)

    def _failed(self, part: str, fault: Exception) -> None:
        if str(fault) != self._faults[part]:
            _log.warning("%s of stage %s not refreshed: %s", part, self._stage, fault)
        self._faults[part] = str(fault)
        self.failures += part in TARGETS

    def _read_model(self, target: str) -> Versioned | None:
        pointer = self._pointer_of(target)
        if pointer is None and target == "throughput":
            raise ModelUnavailableError(f"the stage {self._stage} points at no model")
        if pointer is None:
            return None
        current = self._models[target]
        if current is not None and current.version == pointer.version:
            return current
        artifact = load(self._store.folder(pointer.uri), pointer.manifest_sha256)
        if artifact.target.name != target:
            raise ModelUnavailableError(f"{pointer.version} predicts {artifact.target.name}")
        return Versioned(pointer.version, artifact)

    def _read_switches(self) -> Switches:
        if not self._switched:
            return EVERYONE
        return parse_switches(self._store.read(switches_key(self._stage)))
