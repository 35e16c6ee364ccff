"""A forest's file: every rule that keeps a traversal inside its arrays, broken one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leap_model import engine, forest_check
from leap_model.errors import ArtifactError
from leap_model.forest_file import HEADER_BYTES, Counts, decode, encode
from leap_model.trees import open_forest
from tests.unit.leap_model.builders import Split, forest
from tests.unit.leap_model.engines import scores_of

# Two trees. Splits: 0 by number, 1 by category, 2 by number. Leaves: 3 of the first tree, then 2.
SOUND = forest(
    Split(0, 1.0, Split(1, frozenset({0, 9}), 1.0, 2.0), 3.0),
    Split(0, 2.0, 4.0, 5.0),
    n_inputs=2,
)

Change = Callable[[dict[str, Any]], None]


def put(name: str, at: int, value: float, field: str | None = None) -> Change:
    def change(parts: dict[str, Any]) -> None:
        values = parts[name] = parts[name].copy()
        (values[field] if field else values)[at] = value

    return change


TAMPERED: list[tuple[Change, str]] = [
    *((put("nodes", 0, value, "left_leaves"), "must part the leaves") for value in (0, 3, 4, 255)),
    *((put("nodes", 1, value, "left_leaves"), "must part the leaves") for value in (0, 2, 255)),
    (put("nodes", 2, 2, "left_leaves"), "must part the leaves"),
    # Questions 0 and 1 are of numbers; 2 is the first tree's set; the second tree has none.
    *((put("nodes", 0, value, "question"), "ask a question of it") for value in (3, 0xFFFF)),
    *((put("nodes", 2, value, "question"), "ask a question of it") for value in (2, 0xFFFF)),
    (put("first_leaf", 0, 1), "first_leaf must ascend from 0 to 5"),
    (put("first_leaf", 1, 0), "first_leaf must ascend"),
    (put("first_leaf", 1, 5), "first_leaf must ascend"),
    (put("first_leaf", 1, 2**32 - 1), "first_leaf must ascend"),
    (put("first_leaf", 1, 2), "must part the leaves"),
    (put("first_leaf", 2, 4), "first_leaf must ascend"),
    (put("first_leaf", 2, 6), "first_leaf must ascend"),
    (put("first_set", 0, 1), "first_set must ascend from 0 to 1"),
    (put("first_set", 1, 2), "first_set must ascend"),
    (put("first_set", 2, 2), "first_set must ascend"),
    (put("first_set", 1, 0), "ask a question of it"),
    (put("output", 1, 1), "output must lie below 1"),
    (put("output", 0, 2**32 - 1), "output must lie below 1"),
    (put("edges", 0, np.nan), "edges must be numbers that ascend"),
    (put("edges", 0, 2.0), "edges must be numbers that ascend"),
    (put("edges", 1, 0.5), "edges must be numbers that ascend"),
    (put("first_edge", 0, 1), "first_edge must ascend from 0 to 2"),
    (put("first_edge", 1, 3), "first_edge must ascend"),
    (put("run_column", 0, 4), "run_column must lie below 4"),
    (put("category_column", 0, 2), "category_column must lie below 2"),
    (put("category_codes", 0, 257), "category_codes must lie below 257"),
    (put("category_codes", 0, 256), "a bit for each code"),
    (put("category_codes", 0, 16), "a bit for each code"),
    (put("set_at", 0, 1), "a bit for each code|categories must lie below"),
    (put("set_at", 0, 3), "set_at must lie inside"),
    (put("set_at", 0, 2**32 - 1), "set_at must lie inside"),
    (put("sets", 0, 1), "categories must lie below 1"),
    (put("sets", 1, 255), "categories must lie below 1"),
    (put("leaves", 0, np.nan), "leaves must be finite"),
    (put("leaves", 4, np.inf), "leaves must be finite"),
    (put("baseline", 0, -np.inf), "baseline is not finite"),
]


@pytest.mark.parametrize("by", ["kernel", "numpy"])
@pytest.mark.parametrize(("tamper", "rule"), TAMPERED, ids=range(len(TAMPERED)))
def test_a_forest_that_could_leave_its_arrays_is_refused(
    tamper: Change, rule: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "numpy":
        monkeypatch.setattr(engine, "prepared", lambda counts, parts: None)
    parts = SOUND.parts()
    open_forest(encode(SOUND.counts, parts))
    tamper(parts)
    with pytest.raises(ArtifactError, match=rule) as caught:
        open_forest(encode(SOUND.counts, parts))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", Counts.__slots__)
@pytest.mark.parametrize("value", [0, 1, 2, 3, 6, 40, 2**31, 2**32, 2**63, 2**64 - 1])
def test_other_counts_are_refused_or_give_another_sound_forest(field: str, value: int) -> None:
    content = bytearray(SOUND.to_bytes())
    at = 8 + 8 * Counts.__slots__.index(field)
    content[at : at + 8] = value.to_bytes(8, "little")
    try:
        opened = open_forest(bytes(content))
    except ArtifactError:
        assert field != "n_inputs" or not 2 <= value < 2**32
        return
    # Those that the padding of a part leaves room for.
    assert value < 100 or field == "n_inputs"
    if value < 100:
        scores_of(opened, np.zeros((3, opened.n_inputs)))


@pytest.mark.parametrize("length", [0, 1, 8, HEADER_BYTES - 1, HEADER_BYTES, -8, -1])
def test_a_file_that_was_cut_is_refused(length: int) -> None:
    with pytest.raises(ArtifactError, match=r"no forest of this format|not of the size"):
        decode(SOUND.to_bytes()[:length])


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"\x93NUMPY", b"", b"\0"], ids=repr)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError, match="no forest of this format"):
        open_forest(content.ljust(500, b"\0"))


def test_what_is_opened_is_stored_as_the_same_bytes() -> None:
    content = SOUND.to_bytes()
    assert open_forest(content).to_bytes() == content
    assert np.shares_memory(open_forest(content).leaves, np.frombuffer(content, np.uint8))


def test_both_checks_of_splits_agree_on_random_splits() -> None:
    tree = Split(0, 0.0, Split(0, 1.0, Split(0, 2.0, 1.0, 2.0), 3.0), Split(0, 3.0, 4.0, 5.0))
    base = forest(tree, tree)
    draw = np.random.default_rng(5)
    verdicts = []
    for _ in range(3_000):
        parts = base.parts()
        nodes = parts["nodes"] = parts["nodes"].copy()
        nodes["left_leaves"] = np.where(
            draw.random(len(nodes)) < 0.8, nodes["left_leaves"], draw.integers(0, 6, len(nodes))
        )
        nodes["question"] = draw.integers(0, 4 + (draw.random() < 0.2), len(nodes))
        counts, held = decode(encode(base.counts, parts))
        unchecked = type(base)(counts, **held, prepared=None)
        sizes = np.diff(unchecked.first_leaf.astype(np.int64))
        verdicts.append(forest_check._splits_are_sound(unchecked, sizes))
        prepared = engine.prepared(counts, held)
        if prepared is not None:
            assert prepared.splits_are_sound(int(sizes.max())) == verdicts[-1]
    assert 100 < sum(verdicts) < 2_900
