"""Looking for a newer model never holds up a ranking that has one."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leap_model.artifact import Artifact
from leap_model.pointer import Pointer
from leap_model.source import StageSource
from leap_model.store import LocalStore
from tests.unit.ranking.hand_made import hand_made, hardware

WAIT_S = 0.05
LONG_S = 20.0


@dataclass
class Stalling:
    """A store whose artifacts arrive when a test lets them; `asked` counts what was asked for."""

    arrived: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    version: str = "v1"
    looks: int = 0

    def looks_over(self) -> None:
        """Wait for every look that was begun.

        A thread is gone from `threading.enumerate` a moment before it counts as ended, so only
        to join it tells that a ranking will begin another.
        """
        for thread in self.threads:
            if thread.name == "leap-look":
                thread.join(LONG_S)
                assert not thread.is_alive()

    def pointer(self, target: str) -> Pointer | None:
        if target != "throughput":
            self.looks += 1  # the last of a look
            return None
        at = "2026-01-01"
        return Pointer(self.version, f"models/{self.version}", "0", at, f"{at}T00:00:00Z")

    def load(self, folder: Path, _: str) -> Artifact:
        self.asked.append(folder.name)
        if not self.arrived.wait(LONG_S):
            raise OSError("the test ended")
        return hand_made([hardware("a")], version=folder.name)


@pytest.fixture
def stalling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stalling]:
    """Everything arrives at once until `arrived` is cleared."""
    store = Stalling()
    store.arrived.set()

    class Noted(threading.Thread):
        def start(self) -> None:
            store.threads.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Noted)
    monkeypatch.setattr("leap_model.source.load", store.load)
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", WAIT_S)
    yield store
    store.arrived.set()


@pytest.fixture
def source(stalling: Stalling, store: LocalStore) -> StageSource:
    return StageSource(store, "s", switched=False, cache_s=0, pointer_of=stalling.pointer)


def _until(source: StageSource, version: str) -> None:
    ends = time.monotonic() + LONG_S
    while source.current().throughput.version != version:
        assert time.monotonic() < ends, "it was never taken up"
        time.sleep(0.005)


def _look(stalling: Stalling, source: StageSource) -> str:
    """The version that a ranking gets which looks; back when the look is over, on any machine."""
    stalling.looks_over()
    version = source.current().throughput.version
    stalling.looks_over()
    return version


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    ends = time.monotonic() + LONG_S
    while not condition() and time.monotonic() < ends:
        time.sleep(0.005)
    return condition()


def _stall(stalling: Stalling, version: str) -> None:
    stalling.arrived.clear()
    stalling.version = version


def test_while_a_new_version_is_on_its_way_the_old_one_answers(
    stalling: Stalling, source: StageSource
) -> None:
    assert _look(stalling, source) == "v1"
    _stall(stalling, "v2")
    started = time.monotonic()
    assert [source.current().throughput.version for _ in range(20)] == ["v1"] * 20
    assert time.monotonic() - started < LONG_S / 2, "rankings waited for a download"
    stalling.arrived.set()
    _until(source, "v2")


def test_a_download_under_way_is_not_begun_a_second_time(
    stalling: Stalling, source: StageSource
) -> None:
    _look(stalling, source)
    _stall(stalling, "v2")
    for _ in range(5):
        _look(stalling, source)
    assert stalling.asked == ["v1", "v2"]


def test_a_version_that_was_rolled_back_on_its_way_is_not_served(
    stalling: Stalling, source: StageSource
) -> None:
    _look(stalling, source)
    _stall(stalling, "v2")
    _look(stalling, source)
    stalling.version = "v1"
    _look(stalling, source)
    stalling.arrived.set()
    ends = time.monotonic() + 5 * WAIT_S
    while time.monotonic() < ends:
        assert source.current().throughput.version == "v1"
    stalling.version = "v2"  # and comes again when it is pointed at again
    _until(source, "v2")


def test_only_the_first_call_after_the_cache_time_waits(
    stalling: Stalling, source: StageSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look(stalling, source)
    _stall(stalling, "v2")
    _look(stalling, source)
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", LONG_S)
    started = time.monotonic()
    source.current()
    assert time.monotonic() - started < LONG_S / 2


def test_without_a_model_every_ranking_waits_for_the_first(
    stalling: Stalling, source: StageSource
) -> None:
    stalling.arrived.clear()
    given: list[str] = []
    threads = [
        threading.Thread(target=lambda: given.append(source.current().throughput.version))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    time.sleep(3 * WAIT_S)
    assert given == []
    stalling.arrived.set()
    for thread in threads:
        thread.join(LONG_S)
    assert given == ["v1"] * 3
    assert stalling.asked[0] == "v1"


def test_a_version_that_is_pointed_at_while_the_first_one_is_on_its_way_is_fetched_after_it(
    stalling: Stalling, source: StageSource
) -> None:
    stalling.arrived.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: source.current().throughput.version)
        assert _comes_true(lambda: stalling.asked == ["v1"])
        stalling.looks_over()  # else the second would join it, and ask for nothing
        stalling.version = "v2"
        second = pool.submit(lambda: source.current().throughput.version)
        assert _comes_true(lambda: stalling.looks == 2)
        stalling.arrived.set()
        assert [first.result(LONG_S), second.result(LONG_S)] == ["v2", "v2"]
    assert stalling.asked == ["v1", "v2"]


def test_a_process_without_a_thread_to_spare_serves_what_it_has(
    source: StageSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.current()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert source.current().throughput.version == "v1"
    assert source.failures == 1


def test_a_forked_launcher_looks_for_itself(stalling: Stalling, source: StageSource) -> None:
    _look(stalling, source)
    _stall(stalling, "v2")
    _look(stalling, source)  # its download stalls, and stays behind in the parent
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stalling.arrived = threading.Event()
            stalling.arrived.set()
            _until(source, "v2")
            os.write(writer, b"taken up")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"taken up"
    os.close(reader)
