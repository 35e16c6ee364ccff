"""Whoever asks is shown what the model was shown, and nobody else pays for it."""

from typing import Any

import numpy as np
import pytest

from leap_model import Ranker
from leap_model.ranking import FeatureRows
from tests.support import checked, preferred, request
from tests.unit.ranking.hand_made import hand_made, hardware, job, ranker_of

TYPES = [hardware("a", 50.0), hardware("b", 100.0), hardware("c")]


def _seen(ranker: Ranker, document: Any) -> tuple[dict[str, Any], list[FeatureRows]]:
    seen: list[FeatureRows] = []
    return checked(ranker.rank(document, observe=seen.append)), seen


def test_the_rows_are_those_of_the_candidates_in_the_request_s_order() -> None:
    ranker = ranker_of(hand_made(TYPES, rows={"a": 50, "b": 50}))
    spot = {"hardware_type": "a", "id": "a-spot"}
    answer, (rows,) = _seen(ranker, {"job": job(), "candidates": ["a", "moon", "b", "c", spot]})
    assert preferred(answer) == ["b", "a", "a-spot"]
    assert (rows.ids, rows.columns) == (("a", "b", "a-spot"), ("hardware.rate",))
    assert rows.matrix.tolist() == [[50.0], [100.0], [50.0]]


def test_the_rows_predict_what_was_answered(ranker: Ranker) -> None:
    answer, (rows,) = _seen(ranker, request())
    assert ranker.serving is not None
    artifact = ranker.serving.throughput.artifact
    assert rows.columns == artifact.schema.names
    again = artifact.target.of_log(artifact.model.predict(rows.matrix))
    told = {entry["id"]: entry["throughput"] for entry in answer["preference"]}
    assert dict(zip(rows.ids, again.tolist(), strict=True)) == told


@pytest.mark.parametrize("document", [None, {"job": job()}, {"job": job(), "candidates": ["moon"]}])
def test_without_a_prediction_nothing_is_shown(document: Any) -> None:
    answer, seen = _seen(ranker_of(hand_made(TYPES)), document)
    assert (answer["preference"], seen) == ([], [])


def test_an_answer_is_the_same_with_and_without_an_observer(ranker: Ranker) -> None:
    observed, _ = _seen(ranker, request())
    assert {**observed, "ranking_id": ""} == {**ranker.rank(request()), "ranking_id": ""}


def test_rows_outlive_the_ranking_unchanged(ranker: Ranker) -> None:
    _, (first,) = _seen(ranker, request())
    before = first.matrix.copy()
    _seen(ranker, request(candidates=["slow-4"]))
    np.testing.assert_array_equal(first.matrix, before)


def test_an_observer_that_fails_raises_nothing(ranker: Ranker) -> None:
    def fail(_: FeatureRows) -> None:
        raise ValueError("x")

    answer = checked(ranker.rank(request(), observe=fail))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")


def test_a_ranker_says_what_it_ranked_with_last() -> None:
    ranker = ranker_of(hand_made(TYPES, as_of="2026-01-12"))
    seen = [ranker.serving]
    for document in ({"job": job()}, {"job": job(), "candidates": ["a"]}):
        ranker.rank(document)
        seen.append(ranker.serving)
    assert seen[:2] == [None, None]
    assert seen[2] is not None
    assert seen[2].throughput.artifact.training["as_of"] == "2026-01-12"
