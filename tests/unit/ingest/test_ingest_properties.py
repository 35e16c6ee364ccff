"""Whatever is delivered, in any order and however often: each good attempt is read once."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.batch import take_batch
from functions.ingest.message import Message
from leap_model.attempt import parse_attempt
from leap_model.reading import distinct
from leap_model.times import day_of, format_time, start_of
from tests.support import attempt
from tests.unit.ingest.deliveries import NOW, MemoryStore, envelope, rejected, rows, sent

_TODAY = start_of(day_of(NOW))
_times = st.one_of(
    st.integers(NOW - 3 * 86_400_000_000, NOW),
    st.sampled_from([_TODAY - 1, _TODAY, _TODAY + 1]),
).map(format_time)
_good = st.builds(
    attempt,
    attempt_id=st.sampled_from("abcdef"),
    completed_at=_times,
    throughput=st.sampled_from([None, 0, 1.5, float("nan")]),
    config=st.dictionaries(st.text(max_size=3).filter(bool), st.integers(), max_size=2),
)
_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_bad = st.one_of(
    st.text(max_size=20).map(lambda text: f"?{text}"),
    _json.map(lambda value: json.dumps({"detail-type": value, "detail": attempt()})),
    _json.map(lambda value: envelope(attempt(num_trainers=[value]))),
    _json.map(lambda value: json.dumps([value])),
    st.just(envelope(attempt(completed_at="2027-01-01T00:00:00Z"))),
)


@st.composite
def _deliveries(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[str], list[list[Message]]]:
    """Good attempts, bad bodies, and batches of their messages."""
    good = draw(st.lists(_good, min_size=1, max_size=8))
    bad = draw(st.lists(_bad, max_size=4))
    bodies = [envelope(entry) if draw(st.booleans()) else json.dumps(entry) for entry in good]
    bodies += bad
    messages = [sent(body, f"m{at}") for at, body in enumerate(bodies)]
    batches = draw(st.lists(st.lists(st.sampled_from(messages), max_size=6), max_size=6))
    return good, bad, [*batches, draw(st.permutations(messages))]


@given(_deliveries(), st.randoms(use_true_random=False), st.floats(0, 0.6))
def test_the_store_reads_back_the_good_attempts_once(
    deliveries: tuple[list[dict[str, Any]], list[str], list[list[Message]]],
    chance: Any,
    share: float,
) -> None:
    good, bad, queue = deliveries
    store = MemoryStore(fails=lambda key: chance.random() < share)
    for attempt_number in range(200):
        if not queue:
            break
        batch = queue.pop(0)
        failed = set(take_batch(store, batch, NOW + attempt_number).failed())
        assert failed <= {message.id for message in batch}
        if failed:  # as the queue does, with whatever else is there
            queue.append([message for message in batch if message.id in failed])
    assert not queue

    expected: dict[str, tuple[int, str]] = {}
    for entry in good:
        parsed = parse_attempt(json.loads(json.dumps(entry)), NOW)
        identity = (parsed.completed_at, parsed.record_sha256)
        expected[parsed.attempt_id] = max(expected.get(parsed.attempt_id, identity), identity)
    table = distinct(rows(store))
    assert table["attempt_id"].to_pylist() == sorted(expected)
    assert table["record_sha256"].to_pylist() == [expected[id_][1] for id_ in sorted(expected)]
    assert {line["body"] for line in rejected(store)} == set(bad)


@given(st.lists(st.one_of(_json.map(json.dumps), st.text(), _json.map(envelope)), max_size=5))
def test_no_body_whatever_raises_or_is_lost(bodies: list[str]) -> None:
    store = MemoryStore()
    outcome = take_batch(store, [sent(body, str(at)) for at, body in enumerate(bodies)], NOW)
    assert outcome.counts.rejected == len(bodies)
    assert len(rejected(store)) == len(bodies)
    assert outcome.failed() == []
