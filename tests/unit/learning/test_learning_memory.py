"""References as of any moment: what is written of them, and nothing of the future."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.retrain.learning import memory as module
from functions.retrain.learning.memory import Memory
from functions.retrain.learning.recalling import corrected
from leap_model.columns import Labels
from leap_model.history import family_hashes
from leap_model.limits import DAY_US, MOST_CELLS_PER_FAMILY, MOST_CELLS_PER_MODEL_TYPE
from leap_model.references import Asked, Cells, Known, Recall, References
from tests.unit.learning.past import HARDWARE, Ran, by_hand, drawn, memory_of, rows_of


def same(one: References, other: References) -> bool:
    """Whether two references are the same, bit for bit."""
    return (one.hardware, one.recall) == (other.hardware, other.recall) and all(
        getattr(mine, name).tobytes() == getattr(theirs, name).tobytes()
        for mine, theirs in (
            (one.families, other.families),
            (one.model_types, other.model_types),
        )
        for name in Cells.__slots__
    )


def asked_for(*runs: Ran) -> Asked:
    """The attempts as jobs, launched when they completed."""
    memory = memory_of(runs)
    parts = (memory.family, memory.model_type, memory.hardware_at, memory.size)
    return Asked(*parts, memory.completed_at)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("day", [0, 0.5, 9.5, 10, 30])
def test_references_are_what_is_written_of_them(
    monkeypatch: pytest.MonkeyPatch, seed: int, day: float
) -> None:
    monkeypatch.setattr(module, "MOST_CELLS_PER_FAMILY", 10_000)
    runs = drawn([0, 1, 2, 300][seed % 4], seed)
    before = round(day * DAY_US)
    references = memory_of(runs).as_of(before)
    families, model_types = by_hand(runs, before, 10_000, MOST_CELLS_PER_MODEL_TYPE)
    assert rows_of(references.families) == families
    assert rows_of(references.model_types) == model_types
    for cells in (references.families, references.model_types):
        assert np.all(cells.key[1:] >= cells.key[:-1])


def distinct_times(runs: Sequence[Ran]) -> list[Ran]:
    """The same attempts, no two of which completed at once."""
    order = np.random.default_rng(9).permutation(len(runs))
    return [replace(run, day=1 + at / 1000) for run, at in zip(runs, order.tolist(), strict=True)]


@pytest.mark.parametrize("most", [(1, 1), (3, 2), (16, 5), (2, 256)])
def test_of_too_many_cells_of_a_key_the_latest_stay(
    monkeypatch: pytest.MonkeyPatch, most: tuple[int, int]
) -> None:
    monkeypatch.setattr(module, "MOST_CELLS_PER_FAMILY", most[0])
    monkeypatch.setattr(module, "MOST_CELLS_PER_MODEL_TYPE", most[1])
    runs = distinct_times(drawn(400))
    references = memory_of(runs).as_of(30 * DAY_US)
    families, model_types = by_hand(runs, 30 * DAY_US, *most)
    assert rows_of(references.families) == families
    assert rows_of(references.model_types) == model_types
    assert max(np.unique(references.families.key, return_counts=True)[1]) == most[0]


@pytest.mark.parametrize("most", [1, 5, 20])
def test_of_too_many_cells_of_families_the_latest_of_all_stay(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "MOST_FAMILY_CELLS", most)
    runs = distinct_times(drawn(400))
    references = memory_of(runs).as_of(30 * DAY_US)
    families, model_types = by_hand(runs, 30 * DAY_US, MOST_CELLS_PER_FAMILY, 256)
    latest = sorted(row[-1] for row in families)[-most:]
    assert sorted(references.families.last.tolist()) == latest
    assert np.all(references.families.key[1:] >= references.families.key[:-1])
    assert rows_of(references.model_types) == model_types


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_attempts_does_not_matter(seed: int) -> None:
    runs = drawn(500, seed)
    order = np.random.default_rng(seed).permutation(len(runs))
    one, other = memory_of(runs), memory_of([runs[at] for at in order])
    for day in (5, 20):
        assert same(one.as_of(day * DAY_US), other.as_of(day * DAY_US))


@pytest.mark.parametrize("day", [0.0, 3.5, 10.0])
def test_nothing_that_completes_at_a_moment_or_after_it_is_known_then(day: float) -> None:
    runs = drawn(400, 1)
    before = round(day * DAY_US)
    altered = [
        replace(run, rest=1e6, level=-1e6, family="leak") if run.day >= day else run for run in runs
    ]
    gone = [run for run in runs if run.day < day]
    assert 0 <= len(gone) < len(runs) - 10
    expected = memory_of(runs).as_of(before)
    assert same(memory_of(altered).as_of(before), expected)
    assert same(memory_of(gone).as_of(before), expected)
    planted = [replace(run, rest=1e6) if run.day < day + 0.5 else run for run in altered]
    assert not same(memory_of(planted).as_of(before + DAY_US), memory_of(runs).as_of(before))


def test_what_completes_a_microsecond_earlier_is_known() -> None:
    memory = memory_of([Ran(day=2.0)])
    assert len(memory.as_of(2 * DAY_US).families.key) == 0
    assert len(memory.as_of(2 * DAY_US + 1).families.key) == 1


def test_each_job_sees_as_far_as_its_own_moment() -> None:
    runs = drawn(300, 2)
    memory = memory_of(runs)
    asked = asked_for(*runs[:40])
    before = np.array([(at % 5) * 4 * DAY_US for at in range(40)], np.int64)
    known = memory.recalled(asked, before)
    for at, moment in enumerate(before.tolist()):
        alone = memory.as_of(moment).recalled(asked.take(np.array([at])))
        for name in Known.__slots__:
            assert getattr(known, name)[at] == getattr(alone, name)[0]
    assert len(np.unique(known.rest)) > 20


# Two memories.


def test_two_memories_are_one_of_all_attempts() -> None:
    runs = drawn(300, 3)
    both = memory_of(runs[:200]).and_of(memory_of(runs[200:]))
    assert same(both.as_of(20 * DAY_US), memory_of(runs).as_of(20 * DAY_US))


def test_hardware_types_that_only_the_other_knows_are_added() -> None:
    one = [Ran(on="b", rest=1.0), Ran(on="a", rest=2.0)]
    other = [Ran(on="c", rest=3.0), Ran(on="a", rest=4.0), Ran(on="d", rest=5.0)]
    both = memory_of(one, hardware=("a", "b")).and_of(memory_of(other, hardware=("c", "a", "d")))
    assert both.hardware == ("a", "b", "c", "d")
    assert both.hardware_at.tolist() == [1, 0, 2, 0, 3]
    references = both.as_of(2 * DAY_US)
    rests = {row[1]: row[4] for row in rows_of(references.families, both.hardware)}
    assert rests == {"a": 3.0, "b": 1.0, "c": 3.0, "d": 5.0}


def test_the_first_memory_says_how_to_recall() -> None:
    recall = Recall(shrink=7.0)
    one, other = memory_of([Ran()], recall, scale="ratio.log_peak"), memory_of([Ran()])
    assert (one.and_of(other).recall, one.and_of(other).scale) == (recall, "ratio.log_peak")


@pytest.mark.parametrize("first", [True, False])
def test_an_empty_memory_adds_nothing(first: bool) -> None:
    runs = drawn(50)
    full, empty = memory_of(runs), memory_of([], hardware=())
    both = empty.and_of(full) if first else full.and_of(empty)
    assert same(both.as_of(20 * DAY_US), full.as_of(20 * DAY_US))


# What no single source may do.

NEIGHBOUR = Ran(family="neighbour", day=5.0)
ASKED = Recall(shrink=0.1, strangers=0.2, most=1.0)
PEERS = replace(ASKED, peers=1.0)


def neighbours(runs: Sequence[Ran], recall: Recall = ASKED) -> float:
    """How far a job of a family that never ran is moved, of which 0 was predicted."""
    memory: Memory = memory_of(runs, recall)
    known = memory.as_of(4 * DAY_US).recalled(asked_for(NEIGHBOUR))
    return float(corrected(np.zeros(1), np.zeros(1), known, recall.most)[0])


HONEST = [Ran(family=f"family {at}", rest=0.05 * at, level=0.05 * at) for at in range(4)]


@pytest.mark.parametrize("recall", [ASKED, PEERS], ids=["rest", "level"])
@pytest.mark.parametrize("others", [[], HONEST], ids=["alone", "among others"])
@pytest.mark.parametrize("rest", [0.5, -0.8, 50.0])
def test_a_burst_of_one_family_moves_a_neighbour_no_more_than_one_attempt(
    others: list[Ran], rest: float, recall: Recall
) -> None:
    absurd = Ran(family="loud", rest=rest, level=rest)
    once, often = (neighbours([*others, *[absurd] * count], recall) for count in (1, 1_000))
    assert once == often
    assert abs(once) <= (1 + recall.peers) * recall.most  # each of two corrections


def test_one_absurd_family_among_its_model_type_moves_no_level() -> None:
    absurd = Ran(family="loud", rest=0.0, level=1e5)
    nearest = replace(absurd, level=HONEST[2].level)
    assert neighbours([*HONEST, absurd], PEERS) == neighbours([*HONEST, nearest], PEERS)


def test_one_absurd_attempt_of_several_moves_nothing() -> None:
    runs = [Ran(rest=0.2) for _ in range(3)]
    memory = memory_of([*runs, Ran(rest=1e5)], ASKED)
    honest = memory_of([*runs, Ran(rest=0.2)], ASKED)
    asked = asked_for(Ran(day=5.0), NEIGHBOUR)
    for known in ("rest", "level", "own"):
        found, expected = (
            getattr(of.as_of(4 * DAY_US).recalled(asked), known) for of in (memory, honest)
        )
        assert found.tolist() == expected.tolist()


def test_attempts_keep_their_place_in_the_hardware_types() -> None:
    runs: list[Any] = [Ran(on=on, rest=at) for at, on in enumerate(HARDWARE)]
    references = memory_of(runs).as_of(2 * DAY_US)
    (key,) = family_hashes(Labels.of(["mine"]))
    mine = references.families.of(key)
    assert references.families.hardware[mine].tolist() == [0, 1, 2]
    assert references.families.rest[mine].tolist() == [0.0, 1.0, 2.0]
    assert references.families.of(key + np.uint64(1)) == slice(3, 3)


@pytest.mark.parametrize("recall", [ASKED, PEERS], ids=["rest", "level"])
@pytest.mark.parametrize("others", [[], HONEST], ids=["alone", "among others"])
@pytest.mark.parametrize("rest", [0.5, -0.8, 50.0])
@pytest.mark.parametrize("spread", ["samples", "accelerators", "on"])
def test_a_burst_of_many_sizes_weighs_no_more_than_one_attempt(
    others: list[Ran], rest: float, spread: str, recall: Recall
) -> None:
    loud = [Ran(family="loud", rest=rest, level=rest)]
    burst = [
        replace(loud[0], on=HARDWARE[at % 3])
        if spread == "on"
        else replace(loud[0], **{spread: getattr(loud[0], spread) + at / 1_000})
        for at in range(1_000)
    ]
    once, often = (neighbours([*others, *runs], recall) for runs in (loud, burst))
    assert abs(often) <= abs(once) * 1.001


@pytest.mark.parametrize("count", [1, 1_000])
def test_a_burst_of_one_family_pushes_no_other_out(count: int) -> None:
    honest = [Ran(family=f"family {at}", on="mid-8", rest=0.3, day=1.0) for at in range(20)]
    burst = [Ran(family="loud", samples=6 + at / 1_000, day=2.0) for at in range(count)]
    references = memory_of([*honest, *burst], ASKED).as_of(4 * DAY_US)
    asked = asked_for(replace(NEIGHBOUR, on="mid-8"))
    assert float(references.recalled(asked).rest[0]) > 0.25
