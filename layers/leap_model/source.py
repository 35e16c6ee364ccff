"""Where a ranker gets its model and switches: a stage of a store, looked at now and then."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leap_model import limits
from leap_model.artifact import Artifact, load
from leap_model.errors import ModelUnavailableError
from leap_model.pointer import Pointer, newest, read_pointer
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

    When they are over, the next ranking looks at pointer and switches again, in a thread of its
    own, and a version that is not here yet is loaded in another. It waits for both at most
    `limits.REFRESH_WAIT_S`: enough for a pointer and switches, not for a download. What takes
    longer goes on beside the rankings, which the last good version answers meanwhile, under
    switches that are read as often as ever. Only where there is no model yet does a ranking wait
    for all of it.
    A version that does not load leaves the last good one serving, and is tried again when the
    cache time is over; its failure is logged once.
    The stage `local` is a person's own folder: it has no switches unless they are asked for.
    A stage's pointer is the object in the store. Where there is a parameter that follows it,
    `pointer_of` says what that tells of a target: without it nothing is pointed at, and of the two
    the one that was pointed at last counts. The parameter may have been set back; the object, whose
    writes are conditional, never is. Where the object cannot be read, what was known before stands
    in for it: the parameter is gone by, but not back.

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
        self._pointer_of = pointer_of
        self._store = store
        self._stage = stage
        self._switched = switched
        self._cache_s = cache_s
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._looking = Aside("leap-look")
        self._loading = {target: Aside(f"leap-load-{target}") for target in TARGETS}
        self._models: dict[str, Versioned | None] = dict.fromkeys(TARGETS)
        self._wanted: dict[str, Pointer | None] = dict.fromkeys(TARGETS)
        self._switches = NOBODY
        self._faults: defaultdict[str, str] = defaultdict(str)

    def current(self) -> Serving:
        """What the stage serves now.

        Raises
        ------
        ModelUnavailableError
            Nothing usable is, or ever was, pointed at.
        """
        patient = self._models["throughput"] is None
        # What an earlier ranking did not wait for, this one does not either.
        loads = [load for load in self._loading.values() if patient or not load.under_way]
        if self._look(patient):
            deadline = time.monotonic() + limits.REFRESH_WAIT_S
            for part in (self._looking, *loads):
                part.wait(None if patient else max(deadline - time.monotonic(), 0.0))
        throughput = self._models["throughput"]
        if throughput is None:
            raise ModelUnavailableError(self._faults["throughput"])
        return Serving(throughput, self._models["utilization"], self._switches)

    def _look(self, patient: bool) -> bool:
        """Look if it is time to; whether the ranking waits, which a patient one always does."""
        with self._lock:
            now = self._clock()
            due = self._looked_at is None or now - self._looked_at >= self._cache_s
            if not due or self._looking.under_way:
                return patient
            self._looked_at = now
            try:
                self._looking.begin(self._refresh)
            except RuntimeError as fault:  # the process has no thread to spare
                self._failed("throughput", fault)
            return True

    def _refresh(self) -> None:
        # Each apart, so that switching off works while a model does not load, and the other way
        # round.
        with self._keeping("switches"):
            self._switches = self._read_switches()
            self._faults["switches"] = ""
        for target in TARGETS:
            with self._keeping(target):
                self._point(target)

    def _point(self, target: str) -> None:
        """Take up what the pointer names, unless it serves or is on its way."""
        pointer = self._pointed(target)
        if pointer is None and target == "throughput":
            raise ModelUnavailableError(f"the stage {self._stage} points at no model")
        self._wanted[target] = pointer
        current = self._models[target]
        if pointer is None or (current is not None and current.version == pointer.version):
            self._models[target] = None if pointer is None else current
            self._faults[target] = ""
        elif not self._loading[target].under_way:
            self._loading[target].begin(lambda: self._load(target, pointer))

    def _pointed(self, target: str) -> Pointer | None:
        """What the stage points at, by its object and, where there is one, its parameter."""
        if self._pointer_of is None:
            return self._stored(target)
        said = self._pointer_of(target)
        if said is None:
            return None
        other, part = self._wanted[target], f"object of {target}"
        with self._keeping(part):
            other = self._stored(target)
            self._faults[part] = ""
        return newest(other, said)

    def _stored(self, target: str) -> Pointer | None:
        return read_pointer(self._store, self._stage, target)[0]

    def _load(self, target: str, pointer: Pointer) -> None:
        with self._keeping(target):
            artifact = load(self._store.folder(pointer.uri), pointer.manifest_sha256)
            if artifact.target.name != target:
                raise ModelUnavailableError(f"{pointer.version} predicts {artifact.target.name}")
            if self._wanted[target] == pointer:  # it was not rolled back meanwhile
                self._models[target] = Versioned(pointer.version, artifact)
                self._faults[target] = ""
                return
        wanted, served = self._wanted[target], self._models[target]
        # Who waits for a first model gets the one that is pointed at by now.
        if served is None and wanted is not None and wanted != pointer:
            self._load(target, wanted)

    @contextmanager
    def _keeping(self, part: str) -> Iterator[None]:
        """Whatever fails, what served last serves on: a launch must not wait for a repair."""
        try:
            yield
        except Exception as fault:
            self._failed(part, fault)

    def _failed(self, part: str, fault: Exception) -> None:
        why = str(fault) or type(fault).__name__
        if why != self._faults[part]:
            _log.warning("%s of stage %s not refreshed: %s", part, self._stage, why)
        self._faults[part] = why
        self.failures += part != "switches"

    def _read_switches(self) -> Switches:
        if not self._switched:
            return EVERYONE
        return parse_switches(self._store.read(switches_key(self._stage)))


class Aside:
    """One thing at a time that is done beside everything else."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None

    @property
    def under_way(self) -> bool:
        """Whether it is being done. A thread that a fork left behind counts as ended."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, what: Callable[[], None]) -> None:
        """Do it in a thread that no process waits for; raises RuntimeError where there is none."""
        thread = threading.Thread(target=what, name=self._name, daemon=True)
        thread.start()
        self._thread = thread

    def wait(self, seconds: float | None) -> None:
        """Until it is done, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)
