"""Between the events of a function URL and the documents of a ranking."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from leap_model.answer import INVALID_REQUEST
from leap_model.errors import MISSING, FieldError
from leap_model.limits import MOST_REQUEST_BYTES

JSON_TYPE: Final = "application/json"


def is_http(event: Any) -> bool:
    """Whether an event came over the function URL, rather than being a request by itself."""
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    return isinstance(context, Mapping) and "http" in context


def document_in(body: Any, is_base64: bool) -> Any:
    """The JSON value of a body.

    Raises
    ------
    FieldError
        It is larger than a request may be, or no strict JSON in UTF-8.
    """
    rule = "one object, in strict JSON and UTF-8"
    if not isinstance(body, str) or not body:
        raise FieldError("request", MISSING, rule)
    try:
        content = base64.b64decode(body, validate=True) if is_base64 else body.encode("utf-8")
        if len(content) > MOST_REQUEST_BYTES:
            most = MOST_REQUEST_BYTES // 1024
            raise FieldError("request", f"{len(content):,} bytes", f"JSON of at most {most} KB")
        return json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise FieldError("request", body[:100], rule) from None


def response_to(answer: Mapping[str, Any], status: int | None = None) -> tuple[int, str]:
    """Status and body of an answer: 400 for `invalid_request`, else 200, unless one is given."""
    text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    return status or (400 if answer["reason"] == INVALID_REQUEST else 200), text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
