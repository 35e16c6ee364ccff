"""What lands in the queue depends on the rule: each form is known, or rejected whole."""

import json
from typing import Any

import pytest

from functions.ingest.batch import take_batch
from functions.ingest.envelope import opened
from functions.ingest.message import messages_of
from leap_model.errors import FieldError
from leap_model.events import ATTEMPT, RANKING
from tests.support import attempt
from tests.unit.ingest.deliveries import (
    NOW,
    MemoryStore,
    captured,
    envelope,
    ids,
    ranking,
    rejected,
    sent,
    served,
)


def _taken(name: str) -> tuple[MemoryStore, Any]:
    store = MemoryStore()
    return store, take_batch(store, messages_of(captured(name)), NOW)


@pytest.mark.parametrize("name", ["attempt", "detail_only"])
def test_an_envelope_and_a_detail_by_itself_are_the_same_attempt(name: str) -> None:
    store, outcome = _taken(name)
    assert ids(store) == ["att-2026-000001"]
    assert (outcome.counts.stored, outcome.counts.rejected, outcome.failed()) == (1, 0, [])


def test_both_forms_of_one_attempt_are_one_object() -> None:
    store = MemoryStore()
    for name in ("attempt", "detail_only"):
        take_batch(store, messages_of(captured(name)), NOW)
    assert len(store.objects) == 1


def test_json_text_in_json_text_is_rejected_whole() -> None:
    store, outcome = _taken("quoted_detail")
    assert store.keys("attempts") == []
    (line,) = rejected(store)
    assert line["field"] == "message"
    assert line["body"] == captured("quoted_detail")["Records"][0]["body"]
    assert outcome.failed() == []


def test_a_ranking_is_a_row_and_no_attempt() -> None:
    store, outcome = _taken("ranking")
    assert (outcome.rankings, outcome.counts.stored, store.keys("attempts")) == (1, 0, [])
    (row,) = served(store)
    assert row["ranking_id"] == "5b0f4dd1c9a24f4cb1e4a1d2c3b4a596"


def test_the_event_of_another_source_is_rejected() -> None:
    store, outcome = _taken("foreign_event")
    (line,) = rejected(store)
    assert line["reason"] == 'source is "aws.ec2"; it must be leap.launcher'
    assert outcome.counts.stored == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (envelope(attempt(), source="leap.other"), "source"),
        (envelope(attempt(), source=None), "source"),
        (envelope(attempt(), "training attempt completed"), "detail-type"),
        (envelope(attempt(), ["x"]), "detail-type"),
        (envelope(json.dumps(attempt())), "detail"),
        (envelope([attempt()]), "detail"),
        (envelope(None), "detail"),
        (envelope(None, RANKING), "detail"),
        (envelope(json.dumps(ranking()), RANKING), "detail"),
        (json.dumps({"detail": attempt(), "source": "leap.launcher"}), "attempt_id"),
        (json.dumps({"Type": "Notification", "Message": json.dumps(attempt())}), "attempt_id"),
        (json.dumps({"Records": [attempt()]}), "attempt_id"),
        (json.dumps([attempt()]), "message"),
        (json.dumps(ranking()), "attempt_id"),
    ],
)
def test_anything_else_is_rejected_and_its_message_succeeds(body: str, field: str) -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(body)], NOW)
    (line,) = rejected(store)
    assert (line["field"], line["body"]) == (field, body)
    assert not store.keys("attempts") + store.keys("rankings")
    assert outcome.failed() == []


def test_details_are_given_as_they_came() -> None:
    assert opened(json.loads(envelope(attempt()))) == (ATTEMPT, attempt())
    assert opened(json.loads(envelope(ranking(), RANKING))) == (RANKING, ranking())


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", []])
def test_no_scalar_and_no_list_is_a_message(value: Any) -> None:
    with pytest.raises(FieldError, match="an EventBridge event or an attempt"):
        opened(value)
