"""Asks a rank server over HTTP, within a time budget, and never raises."""

import json
import threading
from typing import Any

from leap_model import limits
from leap_model.answer import INTERNAL_ERROR, INVALID_REQUEST, MODEL_UNAVAILABLE, answer


class RankClient:
    """Posts requests to the URL of a rank server.

    Parameters
    ----------
    url : str
        An http or https address.
    timeout_s : float
        Seconds that one call may take, from name look-up to the last byte.
    """

    def __init__(self, url: str, timeout_s: float = limits.CLIENT_TIMEOUT_S) -> None:
        # Here, so that a launcher that ranks in its own process does not pay for it.
        from leap_model.posting import post

        self._url = url
        self._timeout_s = timeout_s
        self._post = post

    def rank(self, request: dict[str, Any]) -> dict[str, Any]:
        """The server's answer; on any failure one with an empty preference and a reason."""
        try:
            body = json.dumps(request).encode()
        except (TypeError, ValueError, RecursionError):
            return answer(reason=INVALID_REQUEST, detail="the request is not JSON")
        done: list[dict[str, Any]] = []
        # A thread, because no socket timeout bounds a name look-up or a server that trickles.
        call = threading.Thread(target=lambda: done.append(self._ask(body)), daemon=True)
        try:
            call.start()
            call.join(self._timeout_s)
        except (RuntimeError, OverflowError, ValueError) as fault:
            return answer(reason=INTERNAL_ERROR, detail=f"the call could not wait: {fault}")
        if not done:
            detail = f"no answer within {self._timeout_s:g} s"
            return answer(reason=MODEL_UNAVAILABLE, detail=detail)
        return done[0]

    def _ask(self, body: bytes) -> dict[str, Any]:
        try:
            return _answer_in(self._post(self._url, body, self._timeout_s))
        except Exception as fault:
            return answer(reason=MODEL_UNAVAILABLE, detail=f"{type(fault).__name__} on the way")


def _answer_in(content: bytes) -> dict[str, Any]:
    document = json.loads(content)
    known = answer()
    if not isinstance(document, dict) or any(
        name not in document or (isinstance(value, list) and not isinstance(document[name], list))
        for name, value in known.items()
    ):
        return answer(reason=MODEL_UNAVAILABLE, detail="what came back is no answer")
    return document
