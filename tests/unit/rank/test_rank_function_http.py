"""The function URL: what is a request, what is refused, and with which status."""

import base64
import json
from typing import Any

import pytest

from leap_model.limits import MOST_REQUEST_BYTES
from tests.support import preferred
from tests.unit.rank.calls import (
    TYPES,
    Context,
    answer_in,
    asked,
    captured,
    handler,
    plain,
    posted,
    unnamed,
)
from tests.unit.ranking.hand_made import hand_made, hardware, ranker_of

NAMES = ["p4d.24xlarge", "p5.48xlarge"]
handle = handler()
handle_captured = handler(ranker_of(hand_made([hardware(name) for name in NAMES])))


def _base64(content: bytes) -> dict[str, Any]:
    return posted(base64.b64encode(content).decode(), isBase64Encoded=True)


@pytest.mark.parametrize("name", ["rank", "base64", "browser"])
def test_a_captured_call_is_ranked(name: str) -> None:
    answer = answer_in(handle_captured(captured(name), Context()))
    assert preferred(answer) == ["p4d.24xlarge", "p5-spot"]


@pytest.mark.parametrize("path", ["/", "/rank", "/rank/"])
def test_each_path_ranks(path: str) -> None:
    answer = answer_in(handle(posted(asked(), path), Context()))
    assert preferred(answer) == ["a", "b"]


def test_the_answer_is_the_ranker_s() -> None:
    ranker = ranker_of(hand_made(TYPES))
    document = asked(["a", "moon", {"hardware_type": "b", "cost_per_hour": 0}, "a"])
    answer = answer_in(handler(ranker)(posted(document), Context()))
    assert unnamed(answer) == unnamed(ranker.rank(document))


def test_a_base64_body_is_the_same_request() -> None:
    encoded = _base64(json.dumps(asked()).encode())
    plain_answer = answer_in(handle(posted(asked()), Context()))
    assert unnamed(answer_in(handle(encoded, Context()))) == unnamed(plain_answer)


@pytest.mark.parametrize(
    "event",
    [
        *(captured("no_body"), posted(None), posted(""), posted("", isBase64Encoded=True)),
        *(posted("null"), posted("[]"), posted("{"), posted("5"), posted('"x"'), posted("{}")),
        *(posted("//79", isBase64Encoded=True), posted("%%%", isBase64Encoded=True)),
        *(posted("é", isBase64Encoded=True), _base64(b""), _base64(b"\xff\xfe{\x00}\x00")),
        *(posted("[" * 100_000), posted('{"job": NaN}'), posted('{"job": -Infinity}')),
        *(posted('{"job": ' + "9" * 5000 + "}"), posted("\ud800"), posted({"other": 1})),
        posted(json.dumps(asked()) + " {}"),
        {**posted(""), "body": {"already": "parsed"}},
    ],
    ids=lambda event: repr(event.get("body"))[:16],
)
def test_a_body_that_is_no_request_is_400_with_an_empty_preference(event: dict[str, Any]) -> None:
    answer = answer_in(handle(event, Context()), 400)
    assert (answer["preference"], answer["reason"]) == ([], "invalid_request")
    assert len(answer["detail"]) < 300


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"])
def test_another_encoding_than_utf_8_is_400(encoding: str) -> None:
    content = json.dumps(asked(filler="é"), ensure_ascii=False).encode(encoding)
    answer = answer_in(handle(_base64(content), Context()), 400)
    assert answer["reason"] == "invalid_request"


@pytest.mark.parametrize("dirt", ["!", "\n", " ", "é", "="])
def test_base64_with_anything_else_in_it_is_400(dirt: str) -> None:
    event = _base64(json.dumps(asked()).encode())
    event["body"] = event["body"][:40] + dirt + event["body"][40:]
    assert answer_in(handle(event, Context()), 400)["reason"] == "invalid_request"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        *(("NaN", "strict JSON"), ("Infinity", "strict JSON"), ("1e999", "job.batch_size")),
        *(('"64"', "job.batch_size"), ("true", "job.batch_size"), ("null", "job.batch_size")),
    ],
)
def test_a_number_that_is_none_names_its_rule(value: str, field: str) -> None:
    body = json.dumps(asked()).replace('"batch_size": 64', f'"batch_size": {value}')
    assert value in body
    assert field in answer_in(handle(posted(body), Context()), 400)["detail"]


def test_only_a_fault_of_the_job_is_400() -> None:
    none = answer_in(handle(posted(asked([])), Context()))
    assert none["reason"] == "no_candidates"
    excluded = answer_in(handle(posted(asked(["moon", None, {}])), Context()))
    assert (excluded["reason"], len(excluded["excluded"])) == ("all_excluded", 3)
    missing = answer_in(handle(posted({"job": asked()["job"]}), Context()))
    assert missing["reason"] == "no_candidates"
    many = answer_in(handle(posted(asked(["a"] * 10_000)), Context()), 400)
    assert "candidates" in many["detail"]


def _of_bytes(size: int) -> str:
    body = json.dumps(asked(filler=""))
    return body.replace('"filler": ""', f'"filler": "{"x" * (size - len(body))}"')


@pytest.mark.parametrize("is_base64", [False, True])
def test_a_request_of_256_kb_is_ranked_and_a_byte_more_refused(is_base64: bool) -> None:
    def call(body: str, status: int) -> dict[str, Any]:
        event = _base64(body.encode()) if is_base64 else posted(body)
        return answer_in(handle(event, Context()), status)

    assert preferred(call(_of_bytes(MOST_REQUEST_BYTES), 200)) == ["a", "b"]
    refused = call(_of_bytes(MOST_REQUEST_BYTES + 1), 400)
    assert "262,145 bytes" in refused["detail"]


def test_characters_count_as_their_bytes() -> None:
    body = json.dumps(asked(filler="é" * 100_000), ensure_ascii=False)
    assert answer_in(handle(posted(body), Context()))["reason"] is None
    body = json.dumps(asked(filler="é" * 132_000), ensure_ascii=False)
    assert answer_in(handle(posted(body), Context()), 400)["reason"] == "invalid_request"


@pytest.mark.parametrize("path", ["/ranks", "/rank/x", "//rank", "/favicon.ico", "/../rank", ""])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_another_path_is_404_with_an_empty_preference(path: str, method: str) -> None:
    answer = answer_in(handle(posted(asked(), path, method), Context()), 404)
    assert (answer["preference"], answer["reason"]) == ([], "invalid_request")


@pytest.mark.parametrize("path", ["/", "/rank", "/rank/"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_another_method_is_405_with_an_empty_preference(path: str, method: str) -> None:
    response = handle(posted(asked(), path, method), Context())
    answer = answer_in(response, 405)
    assert (answer["preference"], answer["reason"]) == ([], "invalid_request")
    assert response["headers"]["Allow"] == "POST"


def test_a_captured_get_is_405() -> None:
    answer_in(handle(captured("get"), Context()), 405)


@pytest.mark.parametrize(
    "event",
    [
        {"requestContext": {"http": {}}},
        {"requestContext": {"http": None}},
        {"requestContext": {"http": {"method": "POST", "path": "/rank"}}},
        {**posted(asked()), "rawPath": None},
    ],
)
def test_an_envelope_that_is_broken_is_answered_over_http(event: dict[str, Any]) -> None:
    answer = answer_in(handle(event, Context()))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")


def test_an_invocation_with_a_request_gets_the_answer_itself() -> None:
    answer = plain(handle(asked(), Context()))
    over_http = answer_in(handle(posted(asked()), Context()))
    assert unnamed(answer) == unnamed(over_http)


@pytest.mark.parametrize("event", [None, [], {}, "x", 5, {"job": 5}, {"requestContext": {}}])
def test_an_invocation_with_anything_else_gets_an_answer(event: Any) -> None:
    answer = plain(handle(event, Context()))
    assert (answer["preference"], answer["reason"]) == ([], "invalid_request")


def test_an_invocation_without_a_context_is_answered() -> None:
    assert preferred(plain(handle(asked(), None))) == ["a", "b"]


def test_every_answer_has_an_id_of_its_own() -> None:
    events = [posted(asked()), posted(asked()), posted("{"), posted(asked(), "/x")]
    answers = [json.loads(handle(event, Context())["body"]) for event in events]
    assert len({answer["ranking_id"] for answer in answers}) == len(events)
