"""A deployed stage's pointer is told twice: by an object that decides, and a parameter after it."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from leap_model.errors import StoreError
from leap_model.pointer import Pointer, pointer_key
from leap_model.source import StageSource
from leap_model.store import Store
from tests.unit.ranking.hand_made import hand_made, hardware

STAGE = "prod"
OBJECT = pointer_key(STAGE, "throughput")
WAIT_S, LONG_S = 0.05, 20.0


def pointed(version: str, day: int, year: int = 2026) -> Pointer:
    """A version that was pointed at on a January day."""
    return Pointer(version, f"models/{version}", "0" * 64, f"2026-01-{day:02}", _time(year, day))


def _time(year: int, day: int) -> str:
    return f"{year}-01-{day:02}T02:00:00Z"


OLD, NEW = pointed("old", 12), pointed("new", 13)


@dataclass
class Told:
    """What object and parameter tell; `fault` is what reading the object ends with."""

    stored: Pointer | bytes | None
    parameter: Pointer | None
    fault: Exception | None = None
    read: int = 0
    may_answer: threading.Event = field(default_factory=threading.Event)

    def fetch(self, key: str) -> tuple[bytes | None, str | None]:
        assert key == OBJECT
        self.read += 1
        self.may_answer.wait(LONG_S)
        if self.fault:
            raise self.fault
        stored = self.stored
        text = json.dumps(stored.to_json()).encode() if isinstance(stored, Pointer) else stored
        return text, None if text is None else "tag"

    def folder(self, prefix: str) -> str:
        return prefix

    def pointer(self, target: str) -> Pointer | None:
        return self.parameter if target == "throughput" else None


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = hand_made([hardware("a")])
    monkeypatch.setattr("leap_model.source.load", lambda *_: artifact)


@pytest.fixture
def told() -> Iterator[Told]:
    """Both tell the older version, at once."""
    both = Told(OLD, OLD)
    both.may_answer.set()
    yield both
    both.may_answer.set()


@pytest.fixture
def source(told: Told) -> StageSource:
    return StageSource(cast(Store, told), STAGE, switched=False, cache_s=0, pointer_of=told.pointer)


def _version(source: StageSource) -> str:
    return source.current().throughput.version


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(("stored", "parameter"), [(NEW, OLD), (OLD, NEW), (NEW, NEW)])
def test_the_one_that_was_pointed_at_last_is_served(
    told: Told, source: StageSource, stored: Pointer, parameter: Pointer, warm: bool
) -> None:
    if warm:
        assert _version(source) == "old"
    told.stored, told.parameter = stored, parameter
    assert _version(source) == "new"
    assert source.failures == 0


def test_a_rollback_is_served_at_once(told: Told, source: StageSource) -> None:
    told.stored = told.parameter = NEW
    assert _version(source) == "new"
    told.stored = pointed("old", 14)  # and the parameter is yet to follow
    assert _version(source) == "old"
    told.parameter = told.stored
    assert _version(source) == "old"


def test_without_a_parameter_nothing_is_pointed_at(told: Told, source: StageSource) -> None:
    told.parameter = None
    with pytest.raises(Exception, match="the stage prod points at no model"):
        _version(source)
    assert told.read == 0


UNREADABLE: dict[str, tuple[Exception | None, Pointer | bytes]] = {
    "denied": (StoreError("pointers/prod/throughput.json cannot be read: AccessDenied"), OLD),
    "broken": (None, b"{"),
    "unforeseen": (MemoryError(), OLD),
}


@pytest.mark.parametrize("way", UNREADABLE)
def test_an_object_that_cannot_be_read_costs_no_answer_and_is_counted_and_said_once(
    told: Told, source: StageSource, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    told.fault, told.stored = UNREADABLE[way]
    assert [_version(source) for _ in range(3)] == ["old"] * 3
    told.parameter = NEW
    assert _version(source) == "new"
    told.parameter = OLD  # it was set back, which only the object could tell
    assert _version(source) == "new"
    assert source.failures == 5
    assert len([r for r in caplog.records if "object of throughput" in r.getMessage()]) == 1
    told.fault, told.stored = None, NEW
    assert _version(source) == "new"
    assert source.failures == 5


def test_an_object_that_is_not_there_leaves_the_parameter(told: Told, source: StageSource) -> None:
    told.stored = None
    assert _version(source) == "old"
    told.parameter = NEW
    assert _version(source) == "new"
    assert source.failures == 0


def test_an_object_that_stalls_holds_no_answer_up(
    told: Told, source: StageSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _version(source) == "old"
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", WAIT_S)
    told.may_answer.clear()
    told.stored = told.parameter = NEW
    started = time.monotonic()
    assert [_version(source) for _ in range(20)] == ["old"] * 20
    assert time.monotonic() - started < LONG_S / 2
    told.may_answer.set()
    while _version(source) != "new":
        assert time.monotonic() - started < LONG_S
        time.sleep(0.005)


def test_a_parameter_of_a_far_day_that_was_set_by_hand_is_gone_with_the_next_move(
    told: Told, source: StageSource
) -> None:
    told.parameter = pointed("by-hand", 13, year=2099)
    assert _version(source) == "by-hand"
    told.stored = told.parameter = NEW
    assert _version(source) == "new"
