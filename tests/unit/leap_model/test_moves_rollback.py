"""Rollbacks: where one goes by the record of moves, what it withdraws, and what is refused."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leap_model.moves import Move, read_moves, roll_back, withdrawn
from leap_model.pointer import read_pointer
from leap_model.store import LocalStore
from leap_model.times import now_us, parse_time
from tests.unit.leap_model.moving import (
    STAGE,
    move,
    packed_of,
    published,
    refusal,
    served,
    serving,
    told,
)


def test_a_rollback_goes_to_the_version_served_before_and_again_further_back(
    store: LocalStore,
) -> None:
    a, b, c = served(store, 11, 12, 13)
    for expected, replaced in ((b, c), (a, b)):
        assert told(roll_back(store, *STAGE)) == ("rollback", expected, replaced)
        assert serving(store) == expected
    assert refusal(store) == f"the stage prod has served no version before {a}"


def test_a_rollback_restores_the_pointer_that_served_but_for_its_time(store: LocalStore) -> None:
    a, b = (move(store, published(store, day)).pointer for day in (11, 12))
    started = now_us()
    made = roll_back(store, *STAGE)
    assert made == Move("rollback", made.moved_at, b, replace(a, published_at=made.moved_at))
    assert started <= parse_time(made.moved_at) <= now_us()
    assert read_pointer(store, *STAGE)[0] == made.pointer


def test_a_version_that_served_twice_comes_back_as_it_served_last(store: LocalStore) -> None:
    a, b = published(store, 11), published(store, 12)
    again = replace(a, uri=f"models/copied/{a.version}")
    shutil.copytree(store.folder(a.uri), store.folder(again.uri))
    for pointer in (a, b, again):
        move(store, pointer)
    roll_back(store, *STAGE, b.version)
    assert roll_back(store, *STAGE, a.version).pointer.uri == again.uri


@pytest.mark.parametrize("later", [[], [13]])
def test_a_rollback_goes_to_the_version_before_also_where_one_served_twice(
    store: LocalStore, later: list[int]
) -> None:
    a, b, _ = served(store, 11, 12, 11)
    served(store, *later)
    made = roll_back(store, *STAGE)
    assert (made.action, made.pointer.version) == ("rollback", a if later else b)


def test_a_rollback_never_goes_forward_unless_named(store: LocalStore) -> None:
    a, b, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    assert refusal(store) == f"the stage prod has served no version before {a}"
    assert told(roll_back(store, *STAGE, b)) == ("forward", b, a)
    assert told(roll_back(store, *STAGE)) == ("rollback", a, b)
    assert refusal(store) == f"the stage prod has served no version before {a}"
    assert told(roll_back(store, *STAGE, c)) == ("forward", c, a)


def test_a_rollback_goes_on_back_past_versions_published_later(store: LocalStore) -> None:
    a, b, _, d = served(store, 11, 12, 13, 14)
    roll_back(store, *STAGE, b)
    assert withdrawn(read_moves(store, *STAGE)) == {d}
    assert told(roll_back(store, *STAGE)) == ("rollback", a, b)
    assert refusal(store) == f"the stage prod has served no version before {a}"


def test_what_was_published_again_after_the_current_one_is_later(store: LocalStore) -> None:
    a, b = served(store, 11, 12)
    served(store, 11)
    assert told(roll_back(store, *STAGE)) == ("rollback", b, a)
    assert refusal(store) == f"the stage prod has served no version before {b}"
    assert told(roll_back(store, *STAGE, a)) == ("forward", a, b)


def test_a_rollback_passes_over_versions_that_were_rolled_back_from(store: LocalStore) -> None:
    a, bad = served(store, 11, 12)
    roll_back(store, *STAGE)
    (c,) = served(store, 13)
    assert withdrawn(read_moves(store, *STAGE)) == {bad}
    assert roll_back(store, *STAGE).pointer.version == a
    assert withdrawn(read_moves(store, *STAGE)) == {bad, c}


def test_a_version_that_was_rolled_back_from_can_be_named(store: LocalStore) -> None:
    _, bad = served(store, 11, 12)
    roll_back(store, *STAGE)
    (c,) = served(store, 13)
    assert told(roll_back(store, *STAGE, bad)) == ("rollback", bad, c)
    assert serving(store) == bad
    assert withdrawn(read_moves(store, *STAGE)) == {c}


def test_naming_a_later_version_rolls_forward_and_takes_it_off_the_withdrawn(
    store: LocalStore,
) -> None:
    a, _, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    assert withdrawn(read_moves(store, *STAGE)) == {c}
    assert told(roll_back(store, *STAGE, c)) == ("forward", c, a)
    assert withdrawn(read_moves(store, *STAGE)) == set()


def test_after_rolling_forward_a_rollback_goes_to_what_really_served_before(
    store: LocalStore,
) -> None:
    a, _, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE, a)
    roll_back(store, *STAGE, c)
    assert told(roll_back(store, *STAGE)) == ("rollback", a, c)
    assert withdrawn(read_moves(store, *STAGE)) == {c}


@pytest.mark.parametrize(
    ("days", "back_to", "named", "action"),
    [
        pytest.param((11, 12, 13), 11, 12, "forward", id="between the two"),
        pytest.param((11, 12, 13), 12, 11, "rollback", id="before both"),
        pytest.param((11, 12, 11), 12, 11, "forward", id="published again later"),
        pytest.param((11, 12, 11, 13), 11, 12, "rollback", id="the current one published again"),
        pytest.param((12, 11), 12, 11, "forward", id="by the order of moves, not of nights"),
    ],
)
def test_forward_is_what_goes_to_a_version_published_after_the_current_one(
    store: LocalStore, days: tuple[int, ...], back_to: int, named: int, action: str
) -> None:
    served(store, *days)
    roll_back(store, *STAGE, packed_of(back_to).version)
    made = roll_back(store, *STAGE, packed_of(named).version)
    assert (made.action, made.pointer.version) == (action, packed_of(named).version)
    assert made == read_moves(store, *STAGE)[-1]
    assert (told(made)[2] in withdrawn(read_moves(store, *STAGE))) == (action == "rollback")


def test_a_version_pointed_at_again_is_no_longer_withdrawn(store: LocalStore) -> None:
    a, b = published(store, 11), published(store, 12)
    move(store, a)
    move(store, b)
    roll_back(store, *STAGE)
    move(store, b)
    assert withdrawn(read_moves(store, *STAGE)) == set()
    assert told(roll_back(store, *STAGE)) == ("rollback", a.version, b.version)


def test_a_stage_that_points_at_nothing_cannot_be_rolled_back(store: LocalStore) -> None:
    assert refusal(store) == "the stage prod points at no model"
    assert refusal(store, "v") == "the stage prod points at no model"


def test_the_first_version_cannot_be_rolled_back(store: LocalStore) -> None:
    (only,) = served(store, 11)
    assert refusal(store) == f"the stage prod has served no version before {only}"


def test_a_version_that_the_stage_never_served_is_refused(store: LocalStore) -> None:
    served(store, 11, 12)
    strange = published(store, 10).version
    for version in (strange, "", "../x"):
        assert refusal(store, version) == f"the stage prod has never served {version}"


def test_the_version_that_is_served_is_refused(store: LocalStore) -> None:
    _, b = served(store, 11, 12)
    assert refusal(store, b) == f"the stage prod serves {b} already"


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "alter", "said"),
    [
        ("model.json", Path.unlink, "the artifact lacks its file model.json"),
        ("history/runs.npy", _flip, "the artifact's file history/runs.npy was altered"),
        ("manifest.json", Path.unlink, "the artifact has no manifest: it was never completed"),
        ("manifest.json", _flip, "the artifact's manifest is not the one that the pointer names"),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_a_version_that_does_not_load_is_refused(
    store: LocalStore, name: str, alter: Callable[[Path], None], said: str, named: bool
) -> None:
    a, b = served(store, 11, 12)
    alter(store.folder(f"models/throughput/{a}") / name)
    assert refusal(store, a if named else None) == f"{a} cannot serve: {said}"
    assert serving(store) == b


def test_past_a_version_that_does_not_load_an_earlier_one_can_be_named(store: LocalStore) -> None:
    a, b, _ = served(store, 11, 12, 13)
    shutil.rmtree(store.folder(f"models/throughput/{b}"))
    refusal(store)
    assert roll_back(store, *STAGE, a).pointer.version == a
