"""Lambda's entry to the rank function (contract section 4).

Over the function URL, POST to / or /rank ranks. An event without an HTTP envelope is itself the
request. CORS is set nowhere: callers sign their requests, and no browser is one.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from functions.rank.deadline import seconds_left
from functions.rank.envelope import JSON_TYPE, document_in, is_http, response_to
from functions.rank.service import RankService
from functions.rank.telemetry import logger
from leap_model.answer import INTERNAL_ERROR, INVALID_REQUEST, answer
from leap_model.errors import FieldError

PATHS = ("/", "/rank", "/rank/")

Handler: TypeAlias = Callable[[Any, Any], dict[str, Any]]


def handler_of(service: RankService) -> Handler:
    """The function that Lambda calls, over a service; it never raises."""

    def handle(event: Any, context: Any) -> dict[str, Any]:
        over_http = is_http(event)
        try:
            seconds = seconds_left(context)
            return (
                _over_http(service, event, seconds) if over_http else service.rank(event, seconds)
            )
        except Exception as fault:
            logger.error("invocation failed: %s", type(fault).__name__)
            failed = answer(reason=INTERNAL_ERROR)
            return _response(failed) if over_http else failed
        finally:
            service.flush()

    return handle


def _over_http(service: RankService, event: Mapping[str, Any], seconds: float | None) -> Any:
    # Two lines rather than a router: what a cold start loads for one, a launch waits for.
    path, method = event["rawPath"], event["requestContext"]["http"]["method"]
    if not (isinstance(path, str) and isinstance(method, str)):
        raise TypeError("a path and a method are text")
    if path not in PATHS:
        return _elsewhere("only / and /rank are answered", 404)
    if method != "POST":
        return _elsewhere("only POST is answered here", 405, Allow="POST")
    try:
        request = document_in(event.get("body"), bool(event.get("isBase64Encoded")))
    except FieldError as fault:
        return _response(service.refuse(str(fault)))
    return _response(service.rank(request, seconds))


def _elsewhere(detail: str, status: int, **headers: str) -> dict[str, Any]:
    """What was asked for is no ranking, and is not counted as one."""
    return _response(answer(reason=INVALID_REQUEST, detail=detail), status, **headers)


def _response(found: dict[str, Any], status: int | None = None, **headers: str) -> dict[str, Any]:
    code, text = response_to(found, status)
    return {
        "statusCode": code,
        "headers": {**headers, "Content-Type": JSON_TYPE},
        "body": text,
        "isBase64Encoded": False,
    }


handler = handler_of(RankService.of(os.environ))
