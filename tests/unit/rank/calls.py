"""Calls of the rank function as Lambda makes them, and what must be true of every answer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from functions.rank.deadline import MARGIN_S
from functions.rank.handler import Handler, handler_of
from functions.rank.loading import Loading
from functions.rank.recorder import Recorder
from functions.rank.service import RankService
from functions.rank.telemetry import Telemetry
from leap_model import Ranker
from tests.support import checked
from tests.unit.rank.json_schema import validate
from tests.unit.ranking.hand_made import hand_made, hardware, job, ranker_of

EVENTS = Path(__file__).parents[2] / "events"
DESCRIPTION = json.loads(
    (Path(__file__).parents[3] / "functions/rank/openapi.json").read_text(encoding="utf-8")
)
ANSWER = DESCRIPTION["components"]["schemas"]["Answer"]
TYPES = [hardware("a", 100.0), hardware("b", 50.0)]


class Context:
    """What Lambda passes beside an event: time is short."""

    aws_request_id = "2f1c7b0a-6d3e-4c59-8a43-1f0b9e7d5c21"
    function_name = "leap-prod-rank"
    memory_limit_in_mb = 512

    def __init__(self, waiting_s: float = 20.0) -> None:
        self._waiting_s = waiting_s

    def get_remaining_time_in_millis(self) -> int:
        return int((self._waiting_s + MARGIN_S) * 1000)


def captured(name: str) -> dict[str, Any]:
    """An event of a function URL as it was captured."""
    event = json.loads((EVENTS / f"function_url_{name}.json").read_text(encoding="utf-8"))
    assert isinstance(event, dict)
    return event


def posted(body: Any, path: str = "/rank", method: str = "POST", **values: Any) -> dict[str, Any]:
    """A captured event with another body (text, or a document), path or method."""
    event = captured("rank")
    event["body"] = body if isinstance(body, str) or body is None else json.dumps(body)
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"]["method"] = method
    return {**event, **values}


def asked(candidates: Any = ("a", "b"), **values: Any) -> dict[str, Any]:
    """A request that the hand-made model answers."""
    return {"job": job(), "candidates": list(candidates), **values}


def service_of(
    make: Callable[[], Ranker] | Ranker | None = None,
    send: Callable[[Sequence[str]], int] = len,
    share: float = 0.0,
    retry_s: float = 60.0,
) -> RankService:
    """A service over a hand-made model."""
    ranker = ranker_of(hand_made(TYPES, as_of="2026-01-12")) if make is None else make
    making = (lambda: ranker) if isinstance(ranker, Ranker) else ranker
    return RankService(Loading(making, retry_s), Recorder(send, share), Telemetry("test"))


def handler(*args: Any, **values: Any) -> Handler:
    """The Lambda handler over such a service."""
    return handler_of(service_of(*args, **values))


def answer_in(response: dict[str, Any], status: int = 200) -> dict[str, Any]:
    """The answer in an HTTP response, once it is known to be as described."""
    assert response["statusCode"] == status
    assert response["isBase64Encoded"] is False
    assert response["headers"]["Content-Type"] == "application/json"
    assert not [name for name in response["headers"] if "access-control" in name.lower()]
    path = DESCRIPTION["paths"]["/rank"]["post"]
    schema = path["responses"][str(status)]["content"]["application/json"]["schema"]
    document = json.loads(response["body"], parse_constant=_no_constant)
    validate(document, schema, DESCRIPTION)
    return checked(document)


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An invocation's answer, once it is known to be as described."""
    validate(answer, ANSWER, DESCRIPTION)
    return checked(answer)


def unnamed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what differs each time."""
    return {name: value for name, value in answer.items() if name != "ranking_id"}


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} in an answer")
