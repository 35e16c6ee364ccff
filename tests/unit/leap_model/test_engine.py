"""The compiled kernel: the same bits as numpy on any forest, never a binary that does not fit."""

import logging
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leap_model import engine
from leap_model.columns import Floats
from leap_model.trees import Forest
from tests.unit.leap_model.builders import Node, Split, forest
from tests.unit.leap_model.engines import scores_of

INPUTS = 3
LIBRARY = engine.FOLDER / engine.library_name(os.uname().sysname, os.uname().machine)
native = pytest.mark.skipif(
    not LIBRARY.exists(), reason="no kernel was compiled here: make setup, where zig is to be had"
)

THRESHOLDS = [-np.inf, -1.0, -0.0, 0.0, 0.5, np.nextafter(0.5, 1), 1.0, 254.0, 1e300, np.inf]
VALUES = [*THRESHOLDS, np.nan, 5e-324, np.nextafter(0.5, 0), 2.0, 255.0, 255.5, 256.0, -1e308]


@native
def test_where_a_kernel_was_compiled_it_serves() -> None:
    assert engine.name() == "native"
    assert forest(1.0).prepared is not None


def trees() -> st.SearchStrategy[Node]:
    leaves: st.SearchStrategy[Node] = st.floats(-1e6, 1e6)
    sets = st.frozensets(st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 2, 7, 8, 255])))
    return st.recursive(
        leaves,
        lambda children: st.builds(
            Split,
            st.integers(0, INPUTS - 1),
            st.one_of(st.sampled_from(THRESHOLDS), sets),
            children,
            children,
            st.booleans(),
        ),
        max_leaves=24,
    )


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    outputs = draw(st.integers(1, 4))
    grown = draw(st.lists(trees(), max_size=20))
    to = draw(st.lists(st.integers(0, outputs - 1), min_size=len(grown), max_size=len(grown)))
    baseline = draw(st.lists(st.floats(-10, 10), min_size=outputs, max_size=outputs))
    return forest(*grown, n_inputs=INPUTS, outputs=to, baseline=baseline)


def by_hand(node: Node, row: list[float]) -> float:
    """The leaf of a row, by the definition of a split."""
    while isinstance(node, Split):
        value = row[node.feature]
        if isinstance(node.at, frozenset):
            known = 0 <= value < 256 and value == int(value)
            left = int(value) in node.at if known else node.missing_left
        else:
            left = node.missing_left if np.isnan(value) else value <= node.at
        node = node.left if left else node.right
    return node


@settings(max_examples=150, deadline=None)
@given(forests(), st.data())
def test_any_forest_scores_alike_by_both_engines(any_forest: Forest, data: st.DataObject) -> None:
    row = st.lists(st.sampled_from(VALUES), min_size=INPUTS, max_size=INPUTS)
    rows = data.draw(st.lists(row, max_size=70))
    scores_of(any_forest, np.array(rows).reshape(-1, INPUTS))


@settings(max_examples=150, deadline=None)
@given(trees(), st.data())
def test_any_tree_scores_as_its_definition_says(tree: Node, data: st.DataObject) -> None:
    row = st.lists(st.sampled_from(VALUES), min_size=INPUTS, max_size=INPUTS)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    scores = scores_of(forest(tree, n_inputs=INPUTS), np.array(rows))
    assert scores[:, 0].tolist() == [0.0 + by_hand(tree, row) for row in rows]


def chain(leaves: int, left: bool) -> Node:
    """Splits that each part off one leaf."""
    tree: Node = float(leaves)
    for at in range(leaves - 1, 0, -1):
        threshold = float(at) if not left else float(leaves - at)
        tree = Split(0, threshold, float(at), tree) if not left else Split(0, threshold, tree, -1.0)
    return tree


@pytest.mark.parametrize("left", [False, True], ids=["to the right", "to the left"])
@pytest.mark.parametrize("leaves", [2, 255, 256, 257, 400])
def test_chains_as_deep_as_they_have_splits(leaves: int, left: bool) -> None:
    deep = forest(chain(leaves, left), chain(leaves, not left))
    assert deep.counts.wide == (leaves > 256)
    matrix = np.append(np.arange(-1.0, leaves + 2), [np.nan, np.inf, -np.inf]).reshape(-1, 1)
    assert len(np.unique(scores_of(deep, matrix))) > leaves / 2


def random_tree(draw: np.random.Generator, leaves: int) -> Node:
    if leaves == 1:
        return float(draw.normal())
    left = int(draw.integers(1, leaves))
    by_set = draw.random() < 0.3
    return Split(
        int(draw.integers(INPUTS)),
        frozenset(draw.integers(0, 40, 12).tolist()) if by_set else float(draw.choice(THRESHOLDS)),
        random_tree(draw, left),
        random_tree(draw, leaves - left),
        bool(draw.integers(2)),
    )


@pytest.mark.parametrize("rows", [1, 2, 8, 9, 16, 17, 20, 32, 33, 64, 65, 130])
@pytest.mark.parametrize("leaves", [1, 2, 31, 32, 33, 63, 64, 65, 100])
def test_trees_of_every_size_score_alike_whatever_order_their_splits_are_asked_in(
    leaves: int, rows: int
) -> None:
    """Bits of 32 and of 64 that stand for leaves, and trees of more; columns that rows share."""
    draw = np.random.default_rng(1_000 * leaves + rows)
    sizes = [leaves, *draw.integers(1, leaves + 1, 30).tolist()]
    outputs = [at % 3 for at in range(len(sizes))]
    many = forest(
        *[random_tree(draw, size) for size in sizes],
        n_inputs=INPUTS,
        outputs=outputs,
        baseline=(0.5, 0.25, 0.0),
    )
    for shared in range(INPUTS + 1):
        matrix = draw.choice(np.array([*VALUES, *range(40)]), (rows, INPUTS))
        matrix[:, :shared] = matrix[0, :shared]
        scores_of(many, matrix)


@pytest.mark.parametrize("trees", [4_096, 4_097])
def test_more_trees_than_are_scored_by_question(trees: int) -> None:
    stumps = [Split(0, at + 0.5, 1.0, Split(1, frozenset({3}), 2.0, 4.0)) for at in range(trees)]
    many = forest(*stumps, n_inputs=2)
    matrix = np.array([[-1.0, 0.0], [1.0, 3.0], [1e9, 3.0], [1e9, 4.0], [np.nan, 3.0]])
    wanted = [trees, trees + 1, 2 * trees, 4 * trees, 2 * trees]
    assert scores_of(many, matrix)[:, 0].tolist() == wanted


def test_more_questions_than_two_bytes_number() -> None:
    stumps = [Split(0, at / 8, -1.0, 1.0) for at in range(70_000)]
    many = forest(*stumps)
    assert many.counts.wide
    matrix = np.array([[-1.0], [0.0], [1_000.06], [8_749.875], [1e9], [np.nan]])
    below = [0, 0, 8_001, 69_999, 70_000, 70_000]
    assert scores_of(many, matrix)[:, 0].tolist() == [2.0 * n - 70_000 for n in below]


def test_many_outputs_keep_to_themselves() -> None:
    outputs = 300
    many = forest(
        *[Split(0, at + 0.5, 1.0, 2.0) for at in range(outputs)],
        outputs=list(range(outputs)),
        baseline=np.arange(outputs) / 10,
    )
    matrix = np.array([[float(at)] for at in range(-1, 130)])
    wanted = np.arange(outputs) / 10 + np.where(matrix <= np.arange(outputs) + 0.5, 1.0, 2.0)
    assert scores_of(many, matrix).tolist() == wanted.tolist()


def wide_rows(rows: int) -> Floats:
    draw = np.random.default_rng(rows)
    return draw.choice(np.array(VALUES), (rows, INPUTS))


def test_threads_that_share_a_forest_do_not_meet() -> None:
    shared = forest(
        *[
            Split(at % INPUTS, at / 50, Split(2, frozenset({at % 9}), at, 1.0), 0.25)
            for at in range(99)
        ],
        n_inputs=INPUTS,
    )
    asked = [wide_rows(rows) for rows in range(1, 200)]
    alone = [shared.score(rows).tobytes() for rows in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda rows: shared.score(rows).tobytes(), asked * 5))
    assert together == alone * 5


def test_a_forest_survives_going_to_another_process() -> None:
    original = forest(Split(0, 0.5, 1.0, Split(0, frozenset({3}), 2.0, 4.0)), baseline=(0.5,))
    copy = pickle.loads(pickle.dumps(original))
    rows = np.array([[0.0], [3.0], [4.0]])
    assert copy.score(rows).tobytes() == original.score(rows).tobytes()
    assert (copy.prepared is None) == (original.prepared is None)


SCORE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
import numpy as np
from leap_model import engine
from leap_model.trees import constant_forest
constant_forest(1, 1.0).score(np.zeros((1, 1)))
print(engine.name())
"""


def said(**variables: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", SCORE],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def test_an_environment_variable_leaves_the_kernel_out() -> None:
    name, log = said(LEAP_ENGINE="numpy")
    assert name == "numpy"
    assert "LEAP_ENGINE says so" in log


@native
def test_without_it_the_kernel_serves_and_nothing_is_logged() -> None:
    name, log = said(LEAP_ENGINE="")
    assert (name, "numpy scores" in log) == ("native", False)


def refused(library: Path, source: Path, caplog: pytest.LogCaptureFixture) -> str:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="leap_model.engine"):
        assert engine.opened(library, source) is None
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG
    return record.getMessage()


def test_a_library_that_is_not_there_or_is_none_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refused(tmp_path / "none.so", engine.SOURCE, caplog)
    for content in (b"", b"\x7fELF", b"no library" * 1_000):
        (tmp_path / "some.so").write_bytes(content)
        refused(tmp_path / "some.so", engine.SOURCE, caplog)


@native
def test_a_library_of_another_source_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in sorted(path.name for path in engine.SOURCE.iterdir()):
        other = tmp_path / name
        shutil.copytree(engine.SOURCE, other)
        with (other / name).open("ab") as file:
            file.write(b"\n")
        assert "compiled from another source" in refused(LIBRARY, other, caplog)
    refused(LIBRARY, tmp_path / "absent", caplog)
    assert engine.opened(LIBRARY, engine.SOURCE) is not None


@native
def test_another_library_that_loads_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    import _ctypes

    refused(Path(_ctypes.__file__), engine.SOURCE, caplog)


@native
def test_a_library_that_was_cut_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = LIBRARY.read_bytes()
    cut = tmp_path / "cut.so"
    cut.write_bytes(content[:64])
    refused(cut, engine.SOURCE, caplog)
