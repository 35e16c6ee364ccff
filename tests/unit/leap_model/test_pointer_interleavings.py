"""Whoever moves a pointer at the same moment, and is killed wherever: readers never go back.

Every order of the calls of two and three writers, and readers at every moment of each.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import cache
from typing import Any, cast

import pytest

from functions.retrain import pointing
from leap_model import moves
from leap_model.errors import LeapError, StoreError
from leap_model.moves import roll_back
from leap_model.parameters import Parameters, follow_pointer
from leap_model.pointer import Pointer
from leap_model.source import StageSource
from leap_model.store import Store
from leap_model.times import parse_time
from tests.unit.leap_model.builders import tiny_artifact
from tests.unit.leap_model.interleaving import (
    OBJECT,
    STAGE,
    Act,
    Replay,
    World,
    alone,
    every_moment,
)
from tests.unit.leap_model.moving import packed_of

CLOCKS = {"behind": "2020-01-01T00:00:00Z", "ahead": "2040-01-01T00:00:00Z"}


def follow(replay: Replay) -> None:
    """The parameter follows the object, as every run does first and last."""
    follow_pointer(cast(Parameters, replay), cast(Store, replay), *STAGE)


def night(day: int) -> Act:
    """A run of a January night that has a model to point at."""

    def act(replay: Replay) -> None:
        packed, as_of = packed_of(day), date(2026, 1, day)
        uri = f"models/throughput/{packed.version}"
        pointing.point(cast(Store, replay), *STAGE, packed, uri, as_of)
        follow(replay)

    return act


def rollback(replay: Replay) -> None:
    """`leap pointer rollback`, which ends where another moved the pointer first."""
    with suppress(LeapError):
        roll_back(cast(Store, replay), *STAGE)
        follow(replay)


MEETINGS: dict[str, list[Act]] = {
    "two nights": [night(13), night(14)],
    "a night twice": [night(13), night(13)],
    "a night and a rollback": [night(13), rollback],
    "two rollbacks": [rollback, rollback],
    "two nights and a repair": [night(13), night(14), follow],
}
each_meeting = pytest.mark.parametrize(
    ("meeting", "clock"), [(meeting, clock) for meeting in MEETINGS for clock in CLOCKS]
)


@cache
def moments(meeting: str, clock: str) -> tuple[set[World], set[World]]:
    """Every state of a meeting on a stage that has served three nights, and those that end it.

    The clock of those who meet stands still, before or after the times at which those nights were
    pointed at.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves, "_must_load", lambda *_: None)
        world = World()
        for day in (10, 11, 12):
            world = alone(world, night(day))
        for module in (moves, pointing):
            patch.setattr(module, "now_us", lambda: parse_time(CLOCKS[clock]))
        seen = list(every_moment(world, MEETINGS[meeting]))
    return {state for state, _ in seen}, {state for state, over in seen if over}


Look = Callable[[Pointer | None, Pointer, Pointer | None], str]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """What a reader serves that served `before` (None: it is new), by parameter and object.

    The object of None cannot be read.
    """
    artifact = tiny_artifact()
    monkeypatch.setattr("leap_model.source.load", lambda *_: artifact)

    @cache
    def looked(before: Pointer | None, parameter: Pointer, stored: Pointer | None) -> str:
        place = _Object()
        source = StageSource(
            cast(Store, place),
            STAGE[0],
            switched=False,
            cache_s=0,
            pointer_of=lambda target: place.parameter if target == STAGE[1] else None,
        )
        if before is not None:
            place.parameter = place.stored = before
            source.current()
        place.parameter, place.stored = parameter, stored
        return source.current().throughput.version

    return looked


class _Object(Replay):
    """A store that has a pointer or cannot be read."""

    parameter: Pointer
    stored: Pointer | None

    def __init__(self) -> None:
        super().__init__(())

    def fetch(self, key: str) -> tuple[Any, Any]:
        assert key == OBJECT
        if self.stored is None:
            raise StoreError("it cannot be read: AccessDenied")
        return json.dumps(self.stored.to_json()).encode(), "its tag"


@each_meeting
def test_a_pointer_moves_forward_in_time_whatever_the_clocks(meeting: str, clock: str) -> None:
    for world in moments(meeting, clock)[0]:
        stamps = [parse_time(pointer.published_at) for pointer in world.objects]
        assert stamps == sorted(set(stamps))


@each_meeting
def test_the_parameter_names_only_what_was_pointed_at(meeting: str, clock: str) -> None:
    for world in moments(meeting, clock)[0]:
        assert set(world.told) <= set(world.objects)


@each_meeting
def test_when_all_have_ended_the_parameter_says_what_the_object_says(
    meeting: str, clock: str
) -> None:
    _, ended = moments(meeting, clock)
    assert ended
    for world in ended:
        assert world.told[-1] == world.objects[-1]


@each_meeting
def test_wherever_they_are_killed_the_next_run_makes_the_parameter_follow(
    meeting: str, clock: str
) -> None:
    for world in moments(meeting, clock)[0]:
        assert alone(world, follow).told[-1] == world.objects[-1]


@each_meeting
def test_a_reader_goes_by_the_object_at_every_moment(meeting: str, clock: str, look: Look) -> None:
    for world in moments(meeting, clock)[0]:
        newest = world.objects[-1]
        # It served anything that was pointed at, and read the parameter at any moment before now.
        for before in (None, *world.objects):
            for said in world.told:
                assert look(before, said, newest) == newest.version


@each_meeting
def test_a_reader_that_cannot_read_the_object_goes_by_the_parameter_and_not_back(
    meeting: str, clock: str, look: Look
) -> None:
    for world in moments(meeting, clock)[0]:
        order = world.objects.index
        for said in world.told:
            assert look(None, said, None) == said.version
            for before in world.objects:
                assert look(before, said, None) == max(before, said, key=order).version


def test_the_parameter_is_set_back_in_some_order() -> None:
    """Which is what readers are kept from; were it impossible, the tests above would be no use."""
    backwards = []
    for world in moments("two nights", "behind")[0]:
        order = [world.objects.index(said) for said in world.told]
        if order != sorted(order):
            backwards.append(world)
    assert any(world.told[-1] != world.objects[-1] for world in backwards)
    assert any(world.told[-1] == world.objects[-1] for world in backwards)
