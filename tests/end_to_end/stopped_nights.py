"""Nightly runs that are stopped at a call, and ended there or let go on, and readers beside them.

Each is the command itself in a process of its own (`lone_nights.py`), on a store and parameters of
the local AWS, beside those of the deployed stage. A server between them stops it.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Self

import boto3
import pytest

from leap_model import Ranker
from leap_model.artifact import load
from leap_model.parameters import Parameters, deployed_pointer, pointer_parameter
from leap_model.pointer import Pointer, read_pointer
from leap_model.s3 import S3Store
from tests.end_to_end.conftest import Stage
from tests.end_to_end.faults import LONGEST_S, Gate, Proxy
from tests.end_to_end.handling import kept_clean
from tests.end_to_end.lone_nights import Task
from tests.support import checked, fleet, request
from tests.support import filled as folder_with

TARGET = "throughput"
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
PARAMETER = "PutParameter"
NOTICED_S = 1.0
"""Until a signal has ended what a run was waiting for."""
LOOKS = 10
"""Of a reader, at most, until AWS has answered all of one in time."""


class _Sequence:
    """Matches every call that comes after one of a name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._met = False

    def __call__(self, call: str) -> bool:
        after, self._met = self._met, self._met or call == self._name
        return after


def _writes(part: str) -> Callable[[str], bool]:
    """Matches the writing of objects whose key has such a part."""
    return lambda call: call.startswith("PUT ") and part in call


MODELS = _writes(f"/models/{TARGET}/")
OBJECT = _writes(f"/{TARGET}.json")
STEPS: dict[str, Callable[[], Gate]] = {
    "before the first file": lambda: Gate(MODELS),
    "between two files": lambda: Gate(MODELS, after=3),
    "before the manifest": lambda: Gate(_writes("/manifest.json")),
    "before the record of the move": lambda: Gate(_writes(f"/{TARGET}.moves/")),
    "before the object": lambda: Gate(OBJECT),
    "between the object and the reports": lambda: Gate(_writes("/reports/")),
    "between the object and the parameter": lambda: Gate(PARAMETER.__eq__),
    "after the parameter": lambda: Gate(_Sequence(PARAMETER)),
}
"""Where a run is stopped: before the call that is named is made."""


@dataclass
class Nights:
    """A stage whose nights are run one by one; `next` numbers them."""

    name: str
    store: S3Store
    proxy: Proxy
    folder: Path
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    running: list[Task] = field(default_factory=list)

    def next(self) -> str:
        """A night that has not been run: later than every one before."""
        return f"2026-02-{next(self.numbers):02}"

    def start(self, night: str) -> Task:
        """A run of it, under way."""
        told = {
            "AWS_ENDPOINT_URL": self.proxy.endpoint,
            "LEAP_STORE": str(self.store),
            "LEAP_STAGE": self.name,
            "LEAP_SCHEDULED_TIME": f"{night}T02:00:00Z",
            "TMPDIR": str(self.folder),
        }
        log = self.folder / f"run-{len(self.running)}.log"
        self.running.append(Task(os.environ | told, log))
        return self.running[-1]

    def run(self, night: str) -> list[str]:
        """What a whole run says."""
        return said(self.start(night))

    def end_at(self, step: str, night: str, number: signal.Signals) -> None:
        """Run it up to a step, and end it there; what it was about to do is not done."""
        gate = self.proxy.rule = STEPS[step]()
        run = self.start(night)
        assert gate.reached.wait(LONGEST_S), run.end()
        run.send(number)
        time.sleep(NOTICED_S)
        gate.drop()  # one that is asked to end may still make the parameter follow
        code, said_before = run.end()
        assert code == (128 + number if number == signal.SIGTERM else -number), said_before
        self.proxy.rule = None

    def hold(self, matches: Callable[[str], bool], night: str) -> "Held":
        """A run that stands still at a call; other runs go on."""
        gate = self.proxy.rule = Gate(matches, only_those=True)
        run = self.start(night)
        assert gate.reached.wait(LONGEST_S), run.end()
        run.send(signal.SIGSTOP)  # or it would give the call up, and make it again
        self.proxy.rule = None
        return Held(run, gate)

    def object(self) -> Pointer | None:
        """What decides."""
        return read_pointer(self.store, self.name, TARGET)[0]

    def parameter(self) -> Pointer | None:
        """What readers go by."""
        return deployed_pointer(Parameters(), self.name, TARGET)

    def reader(self) -> "Reader":
        """A ranker of the stage that has not looked yet, and looks every time."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tempfile.tempdir", str(self.folder))  # where it keeps what it fetched
            return Reader(Ranker.from_aws(self.name, store_uri=str(self.store), cache_s=0.0))

    def is_complete(self, pointer: Pointer) -> bool:
        """Whether what it names loads, and holds what its manifest says."""
        place = S3Store.of_uri(str(self.store), cache=self.folder / f"seen-{pointer.version}")
        return load(place.folder(pointer.uri), pointer.manifest_sha256).target.name == TARGET


@dataclass(frozen=True)
class Reader:
    """What a launcher's ranker goes by; no switch lets anyone in, and the answer says it anyway."""

    ranker: Ranker

    def version(self) -> str:
        """The version that answers once it has looked, and fetched what it found.

        A call to AWS has a second, which a busy machine may take: such a look is made again.
        """
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("leap_model.limits.REFRESH_WAIT_S", LONGEST_S)
            for _ in range(LOOKS):
                failures = self.ranker.load_failures
                answer = checked(self.ranker.rank(request()))
                if self.ranker.load_failures == failures:
                    break
        assert answer["reason"] == "switched_off", answer
        return str(answer["model_version"])


@dataclass(frozen=True)
class Held:
    """A run that stands still, and where."""

    process: Task
    gate: Gate

    def go_on(self) -> None:
        """Its call is made and answered, and it goes on."""
        self.gate.let_go()
        assert self.gate.answered.wait(LONGEST_S)
        self.process.send(signal.SIGCONT)


class Watch:
    """Looks at the parameter all the time while a block runs, and that what it names is complete.

    So does a reader of the stage.

    Attributes
    ----------
    seen, served : list of str
        The nights that the parameter named and that the reader served, each as often as it changed
        to it.
    """

    def __init__(self, nights: Nights) -> None:
        self.seen: list[str] = []
        self.served: list[str] = []
        self._reader = nights.reader()
        self._nights = nights
        self._incomplete: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self._see()

    def _see(self) -> None:
        pointer = self._nights.parameter()
        assert pointer is not None
        night = self._reader.version()[: len("2026-01-01")]
        if self.served[-1:] != [night]:
            self.served.append(night)
        if self.seen[-1:] != [pointer.as_of]:
            self.seen.append(pointer.as_of)
            if not self._nights.is_complete(pointer):
                self._incomplete.append(pointer.version)

    def __enter__(self) -> Self:
        self._see()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._see()
        assert not self._incomplete


def said(run: Task) -> list[str]:
    """The lines of a run that must end well."""
    code, output = run.end()
    assert code == 0, output
    return output.splitlines()


def pointed(lines: list[str]) -> float:
    """Whether a run moved the pointer, as its metrics say."""
    (metrics,) = (json.loads(line) for line in lines if '"RunsPointed"' in line)
    (value,) = metrics["RunsPointed"]
    return float(value)


@contextmanager
def begun(stage: Stage, name: str, folder: Path) -> Iterator[Nights]:
    """A stage of a small fleet, after its first night; nothing is left of it."""
    store = S3Store(stage.outputs["BucketName"], name, cache=folder / "cache")
    with kept_clean(store.bucket, f"{name}/"), Proxy(stage.aws) as proxy:
        local = folder_with(folder / "fleet", fleet(300, days=4))
        for key in [*local.keys("attempts"), *local.keys("catalogue")]:
            store.create(key, local.read(key) or b"")
        nights = Nights(name, store, proxy, folder)
        try:
            nights.run(nights.next())
            yield nights
        finally:
            for run in nights.running:
                run.kill()
            boto3.client("ssm").delete_parameter(Name=pointer_parameter(name, TARGET))
