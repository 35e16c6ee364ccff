"""Moves that crash or lose between their record and the pointer: they count for nothing."""

import random
from functools import partial

import pytest

from leap_model.moves import Move, read_moves, roll_back, withdrawn
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import LocalStore
from tests.unit.leap_model.moving import (
    ACTS,
    STAGE,
    Act,
    crash,
    each_act,
    lose,
    move,
    packed_of,
    published,
    recorded,
    records,
    refusal,
    served,
    serving,
    told,
)


@each_act
def test_the_move_that_was_made_is_returned_and_is_the_last_on_record(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    made = ACTS[action](store)
    assert told(made) == (action, serving(store), rolled[-1][1])
    assert made.pointer == read_pointer(store, *STAGE)[0]
    assert recorded(store) == [*rolled, (action, made.pointer.version)]
    assert read_moves(store, *STAGE)[-1] == made


@each_act
def test_a_move_that_crashes_before_the_pointer_moves_was_never_made(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    before, gone = read_pointer(store, *STAGE), withdrawn(read_moves(store, *STAGE))
    crash(store, ACTS[action])
    assert len(records(store)) == len(rolled) + 1
    assert read_pointer(store, *STAGE) == before
    assert recorded(store) == rolled
    assert withdrawn(read_moves(store, *STAGE)) == gone


@each_act
@pytest.mark.parametrize("later", ACTS)
def test_after_a_move_that_was_never_made_the_next_is_as_if_it_had_not_been_tried(
    store: LocalStore, rolled: list[tuple[str, str]], action: str, later: str
) -> None:
    crash(store, ACTS[action])
    made = ACTS[later](store)
    assert told(made) == (later, serving(store), rolled[-1][1])
    assert recorded(store) == [*rolled, (later, made.pointer.version)]
    assert read_moves(store, *STAGE)[-1] == made
    gone = {rolled[2][1], rolled[3][1]} if later == "rollback" else {rolled[2][1]}
    assert withdrawn(read_moves(store, *STAGE)) == (set() if later == "forward" else gone)


@each_act
def test_a_crash_right_after_the_pointer_moved_leaves_nothing_to_mend(
    store: LocalStore, rolled: list[tuple[str, str]], action: str
) -> None:
    crash(store, ACTS[action], at="after")
    now = serving(store)
    assert now != rolled[-1][1]
    assert recorded(store) == [*rolled, (action, now)]
    (e,) = served(store, 15)
    assert recorded(store) == [*rolled, (action, now), ("publish", e)]
    assert len(records(store)) == len(rolled) + 2
    assert (rolled[-1][1] in withdrawn(read_moves(store, *STAGE))) == (action == "rollback")


@pytest.mark.parametrize("later", [[], [12]])
def test_a_first_move_that_was_never_made_counts_for_nothing(
    store: LocalStore, later: list[int]
) -> None:
    crash(store, ACTS["publish"])
    versions = served(store, *later)
    assert serving(store) == (versions[0] if versions else None)
    assert recorded(store) == [("publish", version) for version in versions]


def test_a_move_that_was_never_made_is_not_the_newest(store: LocalStore) -> None:
    every = [move(store, published(store, day)) for day in (11, 12)]
    crash(store, ACTS["publish"])
    assert read_moves(store, *STAGE, newest=1) == every[1:]
    assert read_moves(store, *STAGE, newest=3) == every


def test_a_rollback_that_was_never_made_withdraws_nothing(store: LocalStore) -> None:
    _, b = served(store, 11, 12)
    crash(store, lambda store: roll_back(store, *STAGE))
    served(store, 13)
    assert withdrawn(read_moves(store, *STAGE)) == set()
    assert roll_back(store, *STAGE).pointer.version == b


def test_a_version_whose_publication_was_never_made_has_never_served(store: LocalStore) -> None:
    a, _ = served(store, 11, 12)
    crash(store, ACTS["publish"])
    strange = packed_of(14).version
    assert refusal(store, strange) == f"the stage prod has never served {strange}"
    assert roll_back(store, *STAGE).pointer.version == a


class Served:
    """What a stage really served, kept beside the record of it."""

    def __init__(self, store: LocalStore, seed: int) -> None:
        self.store, self.draw = store, random.Random(seed)
        self.nights = {pointer.version: pointer for pointer in map(self._published, range(11, 16))}
        self.made: list[tuple[str, Pointer]] = []
        self.gone: set[str] = set()

    def _published(self, day: int) -> Pointer:
        return published(self.store, day)

    @property
    def current(self) -> str:
        return self.made[-1][1].version

    def note(self, action: str, version: str) -> None:
        """One move was made: the pointer itself tells what is served from now on."""
        pointer, _ = read_pointer(self.store, *STAGE)
        assert pointer is not None
        assert pointer.version == version
        if action == "rollback":
            self.gone.add(self.current)
        self.gone.discard(version)
        self.made.append((action, pointer))

    def another(self, *but: str) -> Pointer:
        return self.nights[self.draw.choice([name for name in self.nights if name not in but])]

    def any_act(self) -> tuple[Act, str, str] | None:
        """A move, what it is to be, and where it goes; None once a rollback was refused."""
        kind = self.draw.choice(("publish", "back", "to"))
        if kind == "publish":
            pointer = self.another(self.current)
            return lambda store: move(store, pointer), "publish", pointer.version
        others = [at.version for _, at in self.made if at.version != self.current]
        fit = others if kind == "to" else [name for name in others if self._is_before(name)]
        if not fit:
            if kind == "back":
                assert refusal(self.store).endswith(f"served no version before {self.current}")
            return None
        version = fit[-1] if kind == "back" else self.draw.choice(fit)
        named = version if kind == "to" else None
        action = "forward" if self._is_later(version) else "rollback"
        return lambda store: roll_back(store, *STAGE, named), action, version

    def _is_before(self, version: str) -> bool:
        """Whether a rollback that names none may go to it."""
        return version not in self.gone and not self._is_later(version)

    def _is_later(self, version: str) -> bool:
        return self._publication(version) > self._publication(self.current)

    def _publication(self, version: str) -> int:
        publications = [
            pointer.version if action == "publish" else "" for action, pointer in self.made
        ]
        return len(publications) - publications[::-1].index(version)

    def agrees(self) -> None:
        pointers = [pointer for _, pointer in self.made]
        every = [
            Move(action, pointer.published_at, before, pointer)
            for (action, pointer), before in zip(self.made, [None, *pointers], strict=False)
        ]
        assert len(set(pointers)) == len(pointers)
        assert read_moves(self.store, *STAGE) == every
        assert withdrawn(every) == self.gone
        assert read_pointer(self.store, *STAGE)[0] == pointers[-1]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_made_crashed_or_lost_the_record_is_what_was_served(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # no power fails here
    true = Served(store, seed)
    if seed % 2:
        crash(store, partial(move, pointer=true.another()))
    true.note("publish", move(store, true.another()).pointer.version)
    for _ in range(25):
        act, action, version = true.any_act() or (None, "", "")
        if act is None:
            continue
        fate = true.draw.choice(("made", "made", "before", "after", "lost", "there and back"))
        if fate == "made":
            assert act(store).action == action
        elif fate == "lost":
            rival = true.another(true.current, version)
            lose(store, act, partial(move, store, rival))
            true.note("publish", rival.version)
        elif fate == "there and back":
            lose(store, act, partial(_there_and_back, true, true.another(true.current)))
        else:
            crash(store, act, fate)
        if fate in ("made", "after"):
            true.note(action, version)
        true.agrees()


def _there_and_back(true: Served, there: Pointer) -> None:
    back = true.current
    move(true.store, there)
    true.note("publish", there.version)
    made = roll_back(true.store, *STAGE, back)
    true.note(made.action, back)
    assert made.action == "rollback"
