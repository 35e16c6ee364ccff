"""Lambda's entry to the rank function (contract section 4).

Over the function URL, POST to / or /rank ranks. An event without an HTTP envelope is itself the
request. CORS is set nowhere: callers sign their requests, and no browser is one.
"""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

from aws_lambda_powertools.event_handler import LambdaFunctionUrlResolver, Response

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
    routes = _routes(service)

    def handle(event: Any, context: Any) -> dict[str, Any]:
        over_http = is_http(event)
        try:
            if over_http:
                return routes.resolve(event, context)
            return service.rank(event, seconds_left(context))
        except Exception as fault:
            logger.error("invocation failed: %s", type(fault).__name__)
            failed = answer(reason=INTERNAL_ERROR)
            return _plain_response(failed) if over_http else failed
        finally:
            service.flush()

    return handle


def _routes(service: RankService) -> LambdaFunctionUrlResolver:
    # Said outright, since debugging, which an environment variable turns on, prints every event.
    routes = LambdaFunctionUrlResolver(debug=False)

    def rank() -> Response[str]:
        event = routes.current_event
        try:
            request = document_in(event.body, bool(event.is_base64_encoded))
        except FieldError as fault:
            return _response(service.refuse(str(fault)))
        return _response(service.rank(request, seconds_left(routes.lambda_context)))

    for path in PATHS:
        routes.post(path)(rank)

    @routes.not_found
    def elsewhere(_: Exception) -> Response[str]:
        known = routes.current_event.path in PATHS
        detail = "only POST is answered here" if known else "only / and /rank are answered"
        refused = answer(reason=INVALID_REQUEST, detail=detail)
        return _response(refused, 405, Allow="POST") if known else _response(refused, 404)

    return routes


def _response(found: dict[str, Any], status: int | None = None, **headers: str) -> Response[str]:
    code, text = response_to(found, status)
    return Response(code, JSON_TYPE, text, {**headers})


def _plain_response(found: dict[str, Any]) -> dict[str, Any]:
    code, text = response_to(found)
    return {
        "statusCode": code,
        "headers": {"Content-Type": JSON_TYPE},
        "body": text,
        "isBase64Encoded": False,
    }


handler = handler_of(RankService.of(os.environ))
