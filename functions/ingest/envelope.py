"""What a message's body is: an attempt, a served ranking, or neither.

A body that has a `detail-type` is the envelope of an EventBridge event; its detail counts if source
and detail-type are the launcher's. A body without one is an attempt by itself: what a rule with the
input path `$.detail` delivers, or a person who sends a repaired record to the queue. Anything else
is rejected whole. In particular JSON text within JSON text is never unwrapped, be it the body or
the detail: there would be no end to it, and whoever quotes twice sees it in AttemptsRejected.
"""

from collections.abc import Mapping
from typing import Any

from leap_model.errors import MISSING, FieldError
from leap_model.events import ATTEMPT, RANKING, SOURCE


def opened(value: Any) -> tuple[str, Any]:
    """The detail-type of a body's JSON value, ATTEMPT or RANKING, and the detail.

    Raises
    ------
    FieldError
        It is no JSON object, or the envelope of another event.
    """
    if not isinstance(value, Mapping):
        raise FieldError("message", value, "an EventBridge event or an attempt, as a JSON object")
    if "detail-type" not in value:
        return ATTEMPT, value
    if value.get("source") != SOURCE:
        raise FieldError("source", value.get("source", MISSING), SOURCE)
    detail_type = value["detail-type"]
    if detail_type not in (ATTEMPT, RANKING):
        raise FieldError("detail-type", detail_type, f'"{ATTEMPT}" or "{RANKING}"')
    detail = value.get("detail", MISSING)
    if not isinstance(detail, Mapping):
        raise FieldError("detail", detail, "a JSON object")
    return detail_type, detail
