"""Messages of a Lambda event, and when each of them arrived."""

from typing import Any

import pytest

from functions.ingest.message import Message, NoMessagesError, messages_of
from leap_model.limits import DAY_US
from leap_model.times import parse_time
from tests.unit.ingest.deliveries import NOW, captured, delivery


def test_a_captured_event_is_its_messages_in_order() -> None:
    event = captured("attempt_between_poison")
    messages = messages_of(event)
    assert [message.id for message in messages] == [
        record["messageId"] for record in event["Records"]
    ]
    assert [message.body.decode() for message in messages] == [
        record["body"] for record in event["Records"]
    ]
    assert messages[0].sent_at == parse_time("2026-01-02T08:59:03.105Z")


def test_an_event_without_messages_is_none() -> None:
    assert messages_of({"Records": []}) == []


@pytest.mark.parametrize(
    "event",
    [
        *(None, [], {}, {"Records": None}, {"Records": [None]}, {"Records": ["a"]}),
        *({"Records": [{"messageId": "m"}]}, {"Records": [{"body": "{}"}]}),
        {"Records": [{"messageId": "m", "body": None}]},
        {"detail": {"attempt_id": "a"}},
    ],
    ids=repr,
)
def test_an_event_of_something_else_is_refused_without_its_content(event: Any) -> None:
    with pytest.raises(NoMessagesError, match=r"no Records|no messageId and body") as refusal:
        messages_of(event)
    assert "attempt_id" not in str(refusal.value)


def test_half_a_surrogate_pair_is_kept_as_bytes() -> None:
    (message,) = messages_of(delivery([("m", '"\ud800"')]))
    assert message.body == b'"\xed\xa0\x80"'


def test_a_message_arrived_when_it_was_sent_however_late_it_is_tried() -> None:
    message = Message("m", b"", NOW)
    assert {message.arrived(NOW + late) for late in (0, DAY_US, 13 * DAY_US)} == {NOW}


@pytest.mark.parametrize(
    "sent_at",
    [None, 0, NOW // 1000, NOW * 1000, NOW - 15 * DAY_US, NOW + 3600 * 1_000_000, -1],
)
def test_a_stamp_in_another_unit_or_of_another_clock_does_not_count(sent_at: int | None) -> None:
    assert Message("m", b"", sent_at).arrived(NOW) == NOW


@pytest.mark.parametrize("attributes", [None, {}, [], {"SentTimestamp": "soon"}])
def test_a_message_without_a_stamp_arrives_now(attributes: Any) -> None:
    record = {"messageId": "m", "body": "{}", "attributes": attributes}
    (message,) = messages_of({"Records": [record]})
    assert message.arrived(NOW) == NOW
