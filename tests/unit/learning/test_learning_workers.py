"""Workers: the same results in one process or many, and one sentence where one is killed."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from functions.retrain.learning import workers as module
from functions.retrain.learning.workers import FEWEST_ROWS, Workers, workers
from leap_model.errors import MISSING, ArtifactError, FieldError, TrainingError
from tests.unit.learning.calls import die, fail, matrix_of, openmp_threads, pid_after, same_after
from tests.unit.learning.samples import noise


@pytest.fixture
def two() -> Iterator[Workers]:
    with workers(0, 2) as pool:
        yield pool


@pytest.fixture
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator may have set for this process, and joblib would hand on."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


@pytest.mark.parametrize("asked", [1, 2])
def test_results_come_in_the_order_of_the_calls(asked: int) -> None:
    with workers(0, asked) as pool:
        told = pool.run([(same_after, 0.2 if at == 0 else 0.0, at) for at in range(6)])
    assert told == list(range(6))


def test_one_process_is_this_one_and_counts_no_other_memory() -> None:
    with workers(FEWEST_ROWS, 1) as pool:
        assert pool.run([(pid_after, 0.0)] * 2) == [os.getpid()] * 2
        assert (pool.count, pool.peak_mb) == (1, 0.0)


@pytest.mark.usefixtures("many_threads")
def test_several_processes_are_others_of_one_thread_each(two: Workers) -> None:
    pids = set(two.run([(pid_after, 0.1)] * 4))
    assert os.getpid() not in pids
    assert len(pids) <= 2
    assert two.run([(openmp_threads,)] * 2) == [{1}, {1}]
    assert 10 < two.peak_mb < 10_000


def test_the_most_memory_of_each_process_adds_up() -> None:
    told = iter([[(1, 30.0, "a"), (2, 20.0, "b"), (1, 10.0, "c")], [(2, 25.04, "d")]])
    pool = Workers(2, lambda calls: next(told))
    assert pool.run([]) == ["a", "b", "c"]
    assert pool.peak_mb == 50.0
    assert pool.run([]) == ["d"]
    assert pool.peak_mb == 55.0


@pytest.mark.parametrize(
    ("rows", "of", "asked", "expected"),
    [
        (FEWEST_ROWS - 1, 8, None, 1),
        (FEWEST_ROWS, 2, None, 2),
        (FEWEST_ROWS, 1, None, 1),
        (0, 8, 2, 2),
        (FEWEST_ROWS, 8, 1, 1),
    ],
)
def test_few_rows_stay_in_one_process_and_many_use_every_core(
    monkeypatch: pytest.MonkeyPatch, rows: int, of: int, asked: int | None, expected: int
) -> None:
    monkeypatch.setattr(module, "cores", lambda: of)
    with workers(rows, asked) as pool:
        assert pool.count == expected


def test_a_killed_process_is_told_of_in_one_sentence_and_the_next_use_works() -> None:
    with (
        pytest.raises(TrainingError, match=r"one of 2 .* memory; .*\(--processes\)$") as caught,
        workers(0, 2) as pool,
    ):
        pool.run([(same_after, 0.0, 1), (die,), (same_after, 0.0, 2)])
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__
    with workers(0, 2) as pool:
        assert pool.run([(same_after, 0.0, 1)]) == [1]


@pytest.mark.parametrize("asked", [1, 2])
@pytest.mark.parametrize(
    "fault",
    [
        ArtifactError("the forest's leaves must be finite"),
        FieldError("config.lr", "fast", "a finite number"),
        ValueError("a categorical split on a column of numbers"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_what_a_call_raises_comes_through_as_itself(fault: Exception, asked: int) -> None:
    with pytest.raises(type(fault)) as caught, workers(0, asked) as pool:
        pool.run([(same_after, 0.0, 1), (fail, fault)])
    assert type(caught.value) is type(fault)
    assert str(caught.value) == str(fault)


def test_that_a_value_was_missing_is_still_said_after_a_process_told_of_it() -> None:
    fault = FieldError("config.lr", MISSING, "a finite number")
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)


def test_a_large_matrix_is_one_read_only_file_for_all_calls_of_a_training(two: Workers) -> None:
    training = noise(50_000)
    told = two.run([(matrix_of, training)] * 2) + two.run([(matrix_of, training)])
    file, writeable, column_major = told[0]
    assert file
    assert not writeable
    assert column_major
    assert told == told[:1] * 3
    other = replace(training, matrix=training.matrix.copy(order="F"))
    assert two.run([(matrix_of, other)])[0][0] not in ("", file)


_RUN = """
import sys
from functions.retrain.learning.workers import workers
from tests.unit.learning.calls import linger

with workers(0, 2) as pool:
    pool.run([(linger, sys.argv[1], 60.0), (linger, sys.argv[1], 60.0)])
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_run_that_is_killed(tmp_path: Path, how: int) -> None:
    run = subprocess.Popen([sys.executable, "-c", _RUN, str(tmp_path)])
    try:
        assert _until(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        run.send_signal(how)
        run.wait()
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert _until(lambda: not any(_alive(pid) for pid in pids))


def _until(happened: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether it happened in time; the limit is far beyond what it takes."""
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(0.1)
    return happened()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text()
