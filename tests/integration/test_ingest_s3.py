"""The ingest function over its real store: moto is the S3, and no test reaches a network."""

import hashlib
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from moto.core.botocore_stubber import BotocoreStubber

from tests.integration.ingesting import Ingest
from tests.support import attempt, fleet
from tests.unit.ingest.deliveries import (
    captured,
    days,
    delivery,
    envelope,
    ids,
    rejected,
    rows,
    served,
)

EARLY = "2026-01-01T12:00:00Z"


def _delivery(*entries: dict[str, Any]) -> dict[str, Any]:
    return delivery((f"m{at}", envelope(entry)) for at, entry in enumerate(entries, 1))


def _failures(*ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in ids]}


def test_a_captured_attempt_is_a_row_of_its_day(ingest: Ingest) -> None:
    assert ingest(captured("attempt")) == {"batchItemFailures": []}
    (row,) = rows(ingest.store).to_pylist()
    assert (row["attempt_id"], row["throughput"]) == ("att-2026-000001", 41200.5)
    assert json.loads(row["config"])["precision"] == "bf16"
    assert dict(row["architecture"]) == {"params_m": 850.0, "gmacs": 1.2, "layers": 12.0}
    assert days(ingest.store) == ["2026-01-02"]


def test_a_captured_ranking_is_a_row_of_its_day(ingest: Ingest) -> None:
    assert ingest(captured("ranking")) == {"batchItemFailures": []}
    (row,) = served(ingest.store)
    assert row["model_version"] == "2026-01-01-3f9ab2c4d5e6"
    assert json.loads(row["features"])["rows"] == [[8.0, 850.0, None]]
    assert days(ingest.store, "rankings") == ["2026-01-02"]


def test_poison_between_good_ones_is_rejected_and_nothing_comes_again(ingest: Ingest) -> None:
    assert ingest(captured("attempt_between_poison")) == {"batchItemFailures": []}
    assert ids(ingest.store) == ["att-2026-000001", "att-2026-000002"]
    (line,) = rejected(ingest.store)
    assert (line["field"], line["body"]) == ("record", "{not json")
    assert line["received_at"] == "2026-01-02T08:59:03.145000Z"


def test_a_batch_of_one_malformed_message_raises_nothing(ingest: Ingest) -> None:
    assert ingest(delivery([("m1", "not json")])) == {"batchItemFailures": []}
    assert [line["body"] for line in rejected(ingest.store)] == ["not json"]


def test_the_captured_events_are_whole(ingest: Ingest) -> None:
    for name in ("attempt", "attempt_between_poison", "ranking", "detail_only", "quoted_detail"):
        for record in captured(name)["Records"]:
            assert record.keys() == delivery([("m", "")])["Records"][0].keys()
            assert record["md5OfBody"] == hashlib.md5(record["body"].encode()).hexdigest()


def test_every_kind_of_redelivery_leaves_one_row(ingest: Ingest) -> None:
    once = _delivery(attempt())
    twice = delivery([("m8", envelope(attempt())), ("m9", json.dumps(attempt()))])
    for event in (once, once, twice):
        assert ingest(event) == {"batchItemFailures": []}
    assert len(rows(ingest.store)) == 1


def test_invocations_side_by_side_keep_what_each_of_them_stored(ingest: Ingest) -> None:
    events = [_delivery(attempt(attempt_id=f"a{at}")) for at in range(12)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ingest, events * 2))
    assert answers == [{"batchItemFailures": []}] * 24
    assert ids(ingest.store) == sorted(f"a{at}" for at in range(12))
    assert len(rows(ingest.store)) == 12


def test_a_thousand_messages_of_six_megabytes_are_taken_at_once(ingest: Ingest) -> None:
    notes = {f"note_{at}": "x" * 400 for at in range(12)}
    entries = [{**entry, "config": notes} for entry in fleet(1_000, days=1)]
    event = _delivery(*entries)
    assert 5_500_000 < len(json.dumps(event)) < 7_000_000
    assert ingest(event) == {"batchItemFailures": []}
    assert len(ids(ingest.store)) == 1_000


def _answer(code: str, status: int) -> tuple[int, dict[str, str], bytes]:
    body = f"<Error><Code>{code}</Code><Message>As S3 words it.</Message></Error>"
    return status, {"content-type": "application/xml"}, body.encode()


def _stalled() -> None:
    raise ReadTimeoutError(endpoint_url="https://fleet.s3.amazonaws.com")


def _unreachable() -> None:
    raise ConnectTimeoutError(endpoint_url="https://fleet.s3.amazonaws.com")


FAULTS: dict[str, Callable[[], Any]] = {
    "SlowDown": lambda: _answer("SlowDown", 503),
    "AccessDenied": lambda: _answer("AccessDenied", 403),
    "ReadTimeoutError": _stalled,
    "ConnectTimeoutError": _unreachable,
}


class Faults:
    """Makes S3 fail the first `count` writes to keys with some text; counts what was tried."""

    def __init__(self) -> None:
        self.fault, self.part, self.count, self.tried = "", "nothing", 0, 0

    def plan(self, fault: str, part: str, count: int = 1_000) -> None:
        self.fault, self.part, self.count = fault, part, count

    def __call__(self, url: str) -> Any:
        if self.part not in url:
            return None
        self.tried += 1
        return FAULTS[self.fault]() if self.tried <= self.count else None


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """In the place of S3, where they are planned. Pauses between attempts take no time."""
    planned = Faults()
    answer = BotocoreStubber.process_request

    def process(self: BotocoreStubber, request: Any) -> Any:
        fault = planned(request.url) if request.method == "PUT" else None
        return answer(self, request) if fault is None else fault

    monkeypatch.setattr(BotocoreStubber, "process_request", process)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return planned


@pytest.mark.parametrize("name", FAULTS)
def test_a_partition_that_s3_does_not_take_fails_its_own_messages(
    ingest: Ingest, faults: Faults, name: str
) -> None:
    faults.plan(name, "2026-01-01")
    event = _delivery(
        attempt(attempt_id="a1", completed_at=EARLY),
        attempt(attempt_id="a2"),
        attempt(attempt_id="a3", completed_at=EARLY),
    )
    assert ingest(event) == _failures("m1", "m3")
    assert ids(ingest.store) == ["a2"]
    assert faults.tried == (1 if name == "AccessDenied" else 3)
    (warning,) = [line for line in ingest.lines() if line.get("level") == "WARNING"]
    assert warning["fault"].endswith(f".parquet cannot be written: {name}")


@pytest.mark.parametrize("name", ["SlowDown", "ReadTimeoutError"])
def test_a_fault_that_passes_is_tried_again_and_fails_nothing(
    ingest: Ingest, faults: Faults, name: str
) -> None:
    faults.plan(name, "attempts", 2)
    assert ingest(_delivery(attempt())) == {"batchItemFailures": []}
    assert (ids(ingest.store), faults.tried) == (["a-0001"], 3)


def test_what_failed_is_stored_once_when_it_comes_again(ingest: Ingest, faults: Faults) -> None:
    faults.plan("SlowDown", "rejected", 3)
    event = delivery([("m1", envelope(attempt())), ("m2", "not json")])
    assert ingest(event) == _failures("m2")
    assert ingest(event) == {"batchItemFailures": []}
    assert (len(rows(ingest.store)), len(rejected(ingest.store))) == (1, 1)


def test_a_bucket_that_is_not_there_fails_every_message(ingest: Ingest) -> None:
    ingest.lose_bucket()
    event = delivery([("m1", envelope(attempt())), ("m2", "not json")])
    assert ingest(event) == _failures("m1", "m2")


def test_an_s3_that_never_answers_is_given_up_in_time(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.ingest.timed_store import TimedStore
    from leap_model.aws import Budget, client

    with socket.create_server(("127.0.0.1", 0)) as silent:
        ingest.leave_moto()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        hurried = TimedStore("fleet", s3=client("s3", Budget(0.2, 0.2, 1)))
        monkeypatch.setattr(ingest.module, "store", hurried)
        entries = [
            attempt(attempt_id=f"a{day}", completed_at=f"2025-12-{day}T12:00:00Z")
            for day in range(10, 30)
        ]
        answer = ingest(_delivery(*entries), seconds=1.5)
    assert answer == _failures(*(f"m{at}" for at in range(1, 21)))
    faults = [line["fault"] for line in ingest.lines() if line.get("level") == "WARNING"]
    assert faults[0].endswith("cannot be written: ReadTimeoutError")
    # All twenty would take four seconds. A busy machine tries fewer, never more.
    assert sum(fault.endswith("ReadTimeoutError") for fault in faults) <= 1.5 / 0.2 + 1
    assert faults[-1].endswith("was not tried: no time is left")


def test_no_other_machine_is_reached(ingest: Ingest) -> None:
    with (
        socket.socket() as other,
        pytest.raises(AssertionError, match="reached the network"),
    ):
        other.connect(("192.0.2.1", 443))
    assert ingest(_delivery(attempt())) == {"batchItemFailures": []}
    assert ids(ingest.store) == ["a-0001"]
