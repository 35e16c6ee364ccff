"""Records leave the answering path at once; what cannot be kept or sent is dropped and counted."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from functions.rank.record import Record, is_sampled
from functions.rank.recorder import Recorder
from leap_model.ranking import FeatureRows
from tests.support import preferred
from tests.unit.rank.calls import Context, answer_in, asked, handler, plain, posted

SERVED_AT = 1_767_225_600_250_000
ROWS = FeatureRows(("a", "b-spot"), ("x", "y"), np.array([[1.5, np.nan], [-np.inf, 1e300]]))
SOON_S = 20.0


def _record(ranking_id: str = "r", features: FeatureRows | None = ROWS, **request: Any) -> Record:
    return Record(SERVED_AT, request, {"ranking_id": ranking_id, "model_version": "v"}, features)


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Sent:
    """What arrived, in order; holds the sending thread while `open` is not set."""

    def __init__(self, failing: int = 0) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Event()
        self.failing = failing

    def __call__(self, details: Sequence[str]) -> int:
        self.entered.set()
        self.open.wait(60.0)
        self.calls.append([json.loads(detail) for detail in details])
        return self.failing

    @property
    def details(self) -> list[dict[str, Any]]:
        return [detail for call in self.calls for detail in call]


def test_a_record_is_the_detail_of_the_event() -> None:
    text = _record(job={"job_name": "n"}).to_json()
    assert json.loads(text) == {
        "ranking_id": "r",
        "served_at": "2026-01-01T00:00:00.250000Z",
        "model_version": "v",
        "request": {"job": {"job_name": "n"}},
        "answer": {"ranking_id": "r", "model_version": "v"},
        "features": {
            "columns": ["x", "y"],
            "ids": ["a", "b-spot"],
            "rows": [[1.5, None], [None, 1e300]],
        },
    }


def test_a_record_without_features_says_null() -> None:
    assert json.loads(_record(features=None).to_json())["features"] is None


@pytest.mark.parametrize("value", [float("nan"), object(), {1}])
def test_a_record_is_strict_json_or_none(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        _record(value=value).to_json()


def test_a_share_of_the_rankings_is_in_the_sample() -> None:
    names = [f"ranking-{number}" for number in range(4000)]
    for share in (0.05, 0.5):
        sampled = sum(is_sampled(name, share) for name in names)
        assert abs(sampled / len(names) - share) < 0.03
    assert not any(is_sampled(name, 0.0) for name in names)
    assert all(is_sampled(name, 1.0) for name in names)


def test_a_growing_share_keeps_those_already_in() -> None:
    names = [f"ranking-{number}" for number in range(500)]
    few = {name for name in names if is_sampled(name, 0.1)}
    assert few
    assert few <= {name for name in names if is_sampled(name, 0.2)}


def test_the_sample_is_the_same_in_every_process() -> None:
    code = (
        "from functions.rank.record import is_sampled\n"
        "print(*[n for n in range(200) if is_sampled(f'r{n}', 0.1)])"
    )
    here = " ".join(str(n) for n in range(200) if is_sampled(f"r{n}", 0.1))
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


def test_sampled_rankings_are_sent_with_request_answer_and_features() -> None:
    sent = Sent()
    handle = handler(send=sent, share=1.0)
    document = asked(["b", "moon", {"hardware_type": "a", "id": "a-spot"}])
    answer = answer_in(handle(posted(document), Context()))
    _until(lambda: len(sent.details) == 1)
    (detail,) = sent.details
    assert detail["request"] == document
    assert detail["answer"] == answer
    assert detail["ranking_id"] == answer["ranking_id"]
    assert detail["features"] == {
        "columns": ["hardware.rate"],
        "ids": ["b", "a-spot"],
        "rows": [[50.0], [100.0]],
    }


def test_an_empty_preference_is_recorded_and_what_is_no_request_is_not() -> None:
    sent = Sent()
    handle = handler(send=sent, share=1.0)
    for body in ("{", "[]", {"job": 5}):
        answer_in(handle(posted(body), Context()), 400)
    plain(handle({"job": 5}, None))
    answer_in(handle(posted(asked(["moon"])), Context()))
    _until(lambda: len(sent.details) == 1)
    (detail,) = sent.details
    assert (detail["answer"]["reason"], detail["features"]) == ("all_excluded", None)


def test_outside_the_sample_nothing_is_sent_and_no_thread_started() -> None:
    before = threading.active_count()
    recorder = Recorder(Sent(), share=0.0)
    for number in range(100):
        recorder.offer(_record(str(number)))
    assert (recorder.take_dropped(), threading.active_count()) == (0, before)


def test_what_waits_is_sent_together_in_order() -> None:
    sent = Sent()
    sent.open.clear()
    recorder = Recorder(sent, share=1.0)
    recorder.offer(_record("first"))
    assert sent.entered.wait(SOON_S)
    for number in range(15):
        recorder.offer(_record(str(number)))
    sent.open.set()
    _until(lambda: len(sent.details) == 16)
    assert [len(call) for call in sent.calls] == [1, 10, 5]
    assert [detail["ranking_id"] for detail in sent.details[1:]] == [str(n) for n in range(15)]


def test_a_stalled_bus_delays_no_answer_and_costs_the_records_beyond_the_queue() -> None:
    sent = Sent()
    sent.open.clear()
    recorder = Recorder(sent, share=1.0)
    recorder.offer(_record("first"))
    assert sent.entered.wait(SOON_S)
    began = time.monotonic()
    for number in range(1000):
        recorder.offer(_record(str(number)))
    assert time.monotonic() - began < 5.0
    assert recorder.take_dropped() == 980
    assert recorder.take_dropped() == 0
    sent.open.set()
    _until(lambda: len(sent.details) == 21)


def test_rankings_go_on_while_the_bus_stalls() -> None:
    sent = Sent()
    sent.open.clear()
    handle = handler(send=sent, share=1.0)
    try:
        for _ in range(40):
            assert preferred(answer_in(handle(posted(asked()), Context()))) == ["a", "b"]
    finally:
        sent.open.set()


def test_dropped_records_are_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    sent = Sent()
    sent.open.clear()
    handle = handler(send=sent, share=1.0)
    try:
        for _ in range(40):
            handle(asked(), Context())
    finally:
        sent.open.set()
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    dropped = sum(sum(line.get("RecordsDropped", ())) for line in printed)
    # One batch is with the bus and twenty records wait.
    assert 40 - 10 - 20 <= dropped <= 40 - 1 - 20


def test_what_the_bus_does_not_take_is_dropped_and_counted() -> None:
    sent = Sent(failing=1)
    recorder = Recorder(sent, share=1.0)
    recorder.offer(_record())
    _until(lambda: recorder.take_dropped() == 1)


def test_a_bus_that_fails_drops_what_it_was_given_and_later_records_are_sent() -> None:
    failed = threading.Event()
    sent = Sent()

    def send(details: Sequence[str]) -> int:
        if not failed.is_set():
            failed.set()
            raise OSError("no network")
        return sent(details)

    recorder = Recorder(send, share=1.0)
    recorder.offer(_record("lost"))
    _until(lambda: recorder.take_dropped() == 1)
    recorder.offer(_record("kept"))
    _until(lambda: [detail["ranking_id"] for detail in sent.details] == ["kept"])


def test_a_record_that_is_no_json_is_dropped_alone() -> None:
    sent = Sent()
    sent.open.clear()
    recorder = Recorder(sent, share=1.0)
    recorder.offer(_record("first"))
    assert sent.entered.wait(SOON_S)
    recorder.offer(_record("bad", value=float("nan")))
    recorder.offer(_record("good"))
    sent.open.set()
    _until(lambda: len(sent.details) == 2)
    assert [detail["ranking_id"] for detail in sent.details] == ["first", "good"]
    _until(lambda: recorder.take_dropped() == 1)
