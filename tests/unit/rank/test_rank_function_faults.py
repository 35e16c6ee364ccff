"""Whatever breaks, the caller gets an answer with an empty preference and its reason."""

import threading
import time
from typing import Any

import numpy as np
import pytest

import leap_model.ranking
from functions.rank.deadline import MARGIN_S, seconds_left, within
from functions.rank.handler import handler_of
from functions.rank.loading import Loading
from functions.rank.recorder import Recorder
from functions.rank.service import RankService
from functions.rank.telemetry import Telemetry
from leap_model import Ranker
from leap_model.errors import StoreError
from tests.support import preferred
from tests.unit.rank.calls import (
    TYPES,
    Context,
    answer_in,
    asked,
    handler,
    plain,
    posted,
)
from tests.unit.ranking.hand_made import hand_made, ranker_of

ENVIRONMENT = {"LEAP_STORE": "s3://bucket", "LEAP_STAGE": "prod"}


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _failing(fault: BaseException) -> Any:
    def fail(*args: Any, **values: Any) -> Any:
        raise fault

    return fail


FAULTS = [
    *(ValueError("x"), KeyError("x"), OSError("x"), MemoryError(), RecursionError()),
    *(StopIteration(), StoreError("x"), AssertionError("x")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_ranker_that_raises_is_an_internal_error(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handler()
    monkeypatch.setattr(Ranker, "rank", _failing(fault))
    for answer in (answer_in(handle(posted(asked()), Context())), plain(handle(asked(), None))):
        assert (answer["preference"], answer["reason"]) == ([], "internal_error")
    monkeypatch.undo()
    assert preferred(answer_in(handle(posted(asked()), Context()))) == ["a", "b"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_ranker_that_cannot_be_made_is_model_unavailable(fault: Exception) -> None:
    answer = answer_in(handler(_failing(fault))(posted(asked()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert answer["detail"].startswith("no ranker: ")


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_is_an_internal_error(
    score: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leap_model.ranking, "predict", lambda *_: np.array([100.0, score]))
    answer = answer_in(handler()(posted(asked()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")


@pytest.mark.parametrize("value", [float("nan"), np.float32(1.5), object(), {1, 2}, b"x"])
def test_what_strict_json_cannot_say_is_an_internal_error(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handler()
    real = Ranker.rank

    def rank(self: Ranker, *args: Any, **values: Any) -> dict[str, Any]:
        return {**real(self, *args, **values), "score": value}

    monkeypatch.setattr(Ranker, "rank", rank)
    for answer in (answer_in(handle(posted(asked()), Context())), plain(handle(asked(), None))):
        assert (answer["preference"], answer["reason"]) == ([], "internal_error")


def test_without_a_ranker_requests_are_still_told_from_what_is_none() -> None:
    handle = handler(_failing(StoreError("there is no bucket")))
    assert answer_in(handle(posted({"job": {}}), Context()), 400)["reason"] == "invalid_request"
    assert answer_in(handle(posted(asked([])), Context()))["reason"] == "no_candidates"
    answer = answer_in(handle(posted(asked()), Context()))
    assert answer["detail"] == "no ranker: there is no bucket"


def test_a_ranker_is_made_on_first_use_and_kept() -> None:
    made: list[Ranker] = []

    def make() -> Ranker:
        made.append(ranker_of(hand_made(TYPES)))
        return made[-1]

    handle = handler(make)
    assert made == []
    for _ in range(3):
        assert preferred(plain(handle(asked(), None))) == ["a", "b"]
    assert len(made) == 1


def test_a_ranker_that_could_not_be_made_is_tried_again_after_the_cache_time() -> None:
    clock, attempts = Clock(), []

    def make() -> Ranker:
        attempts.append(clock.now)
        if len(attempts) < 3:
            raise StoreError("not yet")
        return ranker_of(hand_made(TYPES))

    loading = Loading(make, 60.0, clock)
    for clock.now in (0.0, 1.0, 59.9, 60.0, 100.0, 119.9):
        assert loading.ranker().rank(asked())["reason"] == "model_unavailable"
    assert (attempts, loading.failures) == ([0.0, 60.0], 2)
    clock.now = 120.0
    assert preferred(loading.ranker().rank(asked())) == ["a", "b"]
    clock.now = 1000.0
    assert preferred(loading.ranker().rank(asked())) == ["a", "b"]
    assert attempts == [0.0, 60.0, 120.0]


def test_a_model_that_stalls_is_an_empty_preference_before_the_function_s_time_is_over() -> None:
    opened = threading.Event()

    def make() -> Ranker:
        opened.wait(30.0)
        return ranker_of(hand_made(TYPES))

    handle = handler(make)
    try:
        began = time.monotonic()
        answer = answer_in(handle(posted(asked()), Context(waiting_s=0.1)))
        assert time.monotonic() - began < 10.0
        assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
        assert "in time" in answer["detail"]
        assert plain(handle(asked(), Context(waiting_s=0.1)))["reason"] == "model_unavailable"
    finally:
        opened.set()
    # What was loading meanwhile serves now.
    assert preferred(answer_in(handle(posted(asked()), Context()))) == ["a", "b"]


def test_an_invocation_with_no_time_left_is_answered_at_once() -> None:
    opened = threading.Event()

    def make() -> Ranker:
        opened.wait(30.0)
        return ranker_of(hand_made(TYPES))

    try:
        answer = plain(handler(make)(asked(), Context(waiting_s=-MARGIN_S)))
        assert answer["reason"] == "model_unavailable"
    finally:
        opened.set()


def test_the_time_left_keeps_a_margin_and_is_never_negative() -> None:
    assert seconds_left(Context(3.0)) == 3.0
    assert seconds_left(Context(-1.0)) == 0.0
    assert seconds_left(None) is None
    assert seconds_left(object()) is None


def test_waiting_passes_results_and_faults_on() -> None:
    assert within(20.0, lambda: 5) == 5
    assert within(None, lambda: 5) == 5
    for seconds in (20.0, None):
        with pytest.raises(KeyError, match="x"):
            within(seconds, _failing(KeyError("x")))


@pytest.mark.parametrize(
    ("part", "name"),
    [
        *((Recorder, "offer"), (Recorder, "take_dropped")),
        *((Telemetry, "ranked"), (Telemetry, "noticed"), (Telemetry, "flush")),
    ],
)
def test_what_only_records_and_counts_costs_no_answer(
    part: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, name, _failing(OSError("no space left")))
    answer = answer_in(handler(share=1.0)(posted(asked()), Context()))
    assert preferred(answer) == ["a", "b"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"LEAP_STORE": ""}, 'LEAP_STORE is ""; it must be s3://BUCKET or s3://BUCKET/PREFIX'),
        ({"LEAP_SAMPLE": "2"}, "LEAP_SAMPLE is 2.0; it must be"),
    ],
)
def test_a_wrong_environment_is_answered_with_the_sentence_that_says_so(
    changed: dict[str, str], sentence: str
) -> None:
    handle = handler_of(RankService.of({**ENVIRONMENT, **changed}))
    answer = answer_in(handle(posted(asked()), Context()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert sentence in answer["detail"]


def test_the_ranker_is_that_of_the_environment_s_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[Any] = []

    def from_aws(stage: str, **values: Any) -> Ranker:
        asked_for.append((stage, values))
        return ranker_of(hand_made(TYPES))

    monkeypatch.setattr(Ranker, "from_aws", from_aws)
    handle = handler_of(RankService.of({**ENVIRONMENT, "LEAP_CACHE_S": "7"}))
    assert asked_for == []
    assert preferred(plain(handle(asked(), None))) == ["a", "b"]
    assert asked_for == [("prod", {"store_uri": "s3://bucket", "cache_s": 7.0})]
