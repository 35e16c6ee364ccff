"""A fit uses the threads that its rows are worth, and no more than there are cores."""

import pytest

from functions.retrain.learning import threads
from functions.retrain.learning.threads import ROWS_PER_THREAD, cores, threads_for


@pytest.mark.parametrize(
    ("rows", "of", "expected"),
    [
        (0, 8, 1),
        (ROWS_PER_THREAD * 2 - 1, 8, 1),
        (ROWS_PER_THREAD * 2, 8, 2),
        (ROWS_PER_THREAD * 100, 8, 8),
        (ROWS_PER_THREAD * 100, 1, 1),
    ],
)
def test_threads_follow_rows_up_to_the_cores(
    monkeypatch: pytest.MonkeyPatch, rows: int, of: int, expected: int
) -> None:
    monkeypatch.setattr(threads, "cores", lambda: of)
    assert threads_for(rows) == expected


def test_there_is_a_core() -> None:
    assert cores() >= 1
