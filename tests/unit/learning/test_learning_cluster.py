"""A Dask cluster: the same results as this process, and one sentence where it cannot be had."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.clusters import cluster, end
from functions.retrain.learning import cluster as module
from functions.retrain.learning.cluster import Cluster, scheduler_address
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.kept import Keeping
from functions.retrain.learning.single import Single
from functions.retrain.learning.workers import Workers, workers
from leap_model.artifact import pack
from leap_model.errors import FieldError, TrainingError
from tests.unit.learning.calls import die, fail, fail_late, pid_after, same_after
from tests.unit.learning.samples import SMALL, artifact_of, noise


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    with cluster(2) as address:
        yield Cluster(address)


@pytest.fixture
def pool(two: Cluster) -> Iterator[Workers]:
    with workers(0, two) as pool:
        yield pool


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECT_S", 1.0)


def test_results_come_in_the_order_of_the_calls_and_from_other_processes(pool: Workers) -> None:
    assert pool.run([(same_after, 0.2 if at == 0 else 0.0, at) for at in range(6)]) == [*range(6)]
    pids = set(pool.run([(pid_after, 0.3)] * 4))
    assert os.getpid() not in pids
    assert (pool.count, len(pids)) == (2, 2)
    assert 10 < pool.peak_mb < 10_000


def test_data_that_calls_share_is_sent_once(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    connection: Any = pool._connection
    scatter = connection._client.scatter

    def counting(value: Any, **how: Any) -> Any:
        sent.append(value)
        return scatter(value, **how)

    monkeypatch.setattr(connection._client, "scatter", counting)
    large = np.arange(1_000.0)
    for _ in range(2):
        told = pool.run([(same_after, 0.0, large)] * 3)
        assert all(np.array_equal(one, large) for one in told)
    assert len(sent) == 1


@pytest.mark.parametrize(
    "estimator",
    [Single(trees=6, leaves=8), replace(SMALL, rounds=2, expert_trees=6, deciding_trees=3)],
    ids=lambda estimator: estimator.name,
)
def test_a_cluster_learns_the_same_model(two: Cluster, estimator: Any) -> None:
    training: TrainingSet = noise(3_000)
    here, there = (estimator.fit(training, 0, where) for where in (1, two))
    assert pack(artifact_of(there.model, training, estimator)) == pack(
        artifact_of(here.model, training, estimator)
    )
    assert there.workers_mb > 10


@pytest.mark.parametrize(
    "fault",
    [ValueError("bad"), OSError("full"), TrainingError("few")],
    ids=lambda f: type(f).__name__,
)
def test_what_a_call_raises_comes_through_as_itself(pool: Workers, fault: Exception) -> None:
    with pytest.raises(type(fault)) as caught:
        pool.run([(same_after, 0.0, 1), (fail, fault)])
    assert str(caught.value) == str(fault)
    assert pool.run([(same_after, 0.0, 1)]) == [1]


def test_what_is_finished_is_kept_whatever_comes_of_the_rest(two: Cluster, tmp_path: Path) -> None:
    keeping = Keeping(str(tmp_path), "scratch/dev/throughput", "data")
    calls: list[tuple[Any, ...]] = [(same_after, 0.0, 1.0), (fail_late, 1.0)]
    with workers(0, two, keeping) as pool, pytest.raises(ValueError, match="late"):
        pool.run(calls)
    assert [keeping.read(keeping.key(call)) for call in calls] == [1.0, None]
    with workers(0, two, keeping) as pool:
        assert pool.run(calls[:1]) == [1.0]


def test_that_it_could_not_be_kept_costs_no_result(
    two: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "scratch").write_text("a file where a folder should be")
    keeping = Keeping(str(tmp_path), "scratch/dev/throughput", "data")
    with workers(0, two, keeping) as pool:
        assert pool.run([(same_after, 0.0, 1.0), (same_after, 0.0, 2.0)]) == [1.0, 2.0]
    assert "2 finished fits are not kept" in caplog.text


def test_a_fit_that_kills_its_workers_is_told_of_and_the_next_use_works(pool: Workers) -> None:
    with pytest.raises(TrainingError, match=r"killed over one fit, .* memory$"):
        pool.run([(die,), (same_after, 0.0, 1)])
    assert pool.run([(same_after, 0.0, 1)]) == [1]


@pytest.mark.parametrize("after", [0.0, 2.0], ids=["before it begins", "while it is under way"])
def test_workers_that_are_gone_for_good_end_a_run(after: float) -> None:
    with cluster(2, nanny=False) as address, workers(0, Cluster(address)) as pool:
        for pid in pool.run([(pid_after, 0.5)] * 2):
            threading.Timer(after, os.kill, (pid, signal.SIGKILL)).start()
        with pytest.raises(TrainingError, match=r"^the Dask cluster was lost"):
            pool.run([(same_after, 60.0, np.arange(3.0))] * 2)


def test_workers_that_do_not_come_back_are_waited_for_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LOOK_S", 0.2)
    with cluster(1, nanny=False) as address, workers(0, Cluster(address)) as pool:
        (pid,) = pool.run([(pid_after, 0.0)])
        monkeypatch.setattr(module, "ALONE_S", 0.1)
        # What was done long ago does not count against them.
        time.sleep(0.5)
        assert pool.run([(pid_after, 1.0)]) == [pid]
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(TrainingError, match=r"^the Dask cluster has had no worker for 0 s$"):
            pool.run([(pid_after, 60.0)])  # no data that could be lost with them


def test_workers_of_other_code_are_refused(
    two: Cluster, monkeypatch: pytest.MonkeyPatch, pool: Workers
) -> None:
    monkeypatch.setattr(module, "made_by", lambda: "another")
    why = "runs another LEAP, numpy or scikit-learn"
    with pytest.raises(TrainingError, match=rf"{two.scheduler} {why}"), workers(0, two):
        pass
    with pytest.raises(TrainingError, match=why):  # and one that came later
        pool.run([(same_after, 0.0, 1)])


@pytest.mark.parametrize(
    ("count", "threads", "said"),
    [(1, 2, r"has 2 threads, .*\(--nthreads 1\)$"), (0, 1, "has no worker$")],
    ids=["several threads", "no worker"],
)
def test_a_cluster_that_cannot_fit_is_told_of(
    count: int, threads: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(count, threads) as address:
        monkeypatch.setattr(module, "CONNECT_S", 10.0 if count else 1.0)
        fault = pytest.raises(TrainingError, match=rf"the Dask cluster at {address} {said}")
        with fault, workers(0, Cluster(address)):
            pass


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_cluster_ends_though_one_of_its_processes_will_not(stubborn: bool) -> None:
    """A worker that is told to end while it starts has been seen to wait for ever."""
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); " if stubborn else ""
    code = f"import signal, time; {ignore}print('ready', flush=True); time.sleep(600)"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        with process.stdout as said:
            assert said.readline()
    end(started, patience_s=1.0 if stubborn else 60.0)
    how = -signal.SIGKILL if stubborn else -signal.SIGTERM
    assert [process.returncode for process in started] == [how, how]


def test_where_no_scheduler_answers_is_told_in_one_line() -> None:
    with (
        pytest.raises(TrainingError, match=r"^no Dask scheduler answers at tcp://127.0.0.1:9: "),
        workers(0, Cluster("tcp://127.0.0.1:9")),
    ):
        pass


@pytest.mark.parametrize("text", ["tcp://a:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786"])
def test_addresses(text: str) -> None:
    assert scheduler_address(text, "scheduler") == text


@pytest.mark.parametrize(
    "text", ["", "a:8786", "tcp://a", "tcp://a:0", "http://a:80", "tcp://a:8786/x", "inproc://1:2"]
)
def test_what_is_no_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(FieldError, match=r"^scheduler is .* it must be tcp://HOST:PORT"):
        scheduler_address(text, "scheduler")
