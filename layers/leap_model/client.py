"""Asks a rank server over HTTP, within a time budget, and never raises."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from leap_model import limits
from leap_model.answer import INTERNAL_ERROR, INVALID_REQUEST, MODEL_UNAVAILABLE, answer
from leap_model.errors import SigningError

_UNSIGNED = {"Content-Type": "application/json"}


class RankClient:
    """Posts requests to the URL of a rank server.

    Keep it: with a function URL it looks up AWS credentials once, and begins when it is made.

    Parameters
    ----------
    url : str
        An http or https address.
    timeout_s : float
        Seconds that one call may take, from name look-up to the last byte, signing included.
    sign : bool, optional
        Whether calls carry an AWS signature of the service lambda, with the credentials that
        botocore finds; by default where the URL is a Lambda function's. The region is the URL's,
        else that of the AWS configuration.
    """

    def __init__(
        self,
        url: str,
        timeout_s: float = limits.CLIENT_TIMEOUT_S,
        sign: bool | None = None,
    ) -> None:
        # Here, so that a launcher that ranks in its own process does not pay for it.
        from leap_model.posting import post
        from leap_model.signing import Signer, is_function_url

        self._url = url
        self._timeout_s = timeout_s
        self._post = post
        signs = is_function_url(url) if sign is None else sign
        self._signer = Signer(url) if signs else None

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
            headers = self._headers(body)
            return _answer_in(*self._post(self._url, body, self._timeout_s, headers))
        except SigningError as fault:
            return answer(reason=MODEL_UNAVAILABLE, detail=str(fault))
        except Exception as fault:
            return answer(reason=MODEL_UNAVAILABLE, detail=f"{type(fault).__name__} on the way")

    def _headers(self, body: bytes) -> Mapping[str, str]:
        return self._signer.headers(body, self._timeout_s) if self._signer else _UNSIGNED


def _answer_in(status: int, content: bytes) -> dict[str, Any]:
    """What a response says, where it is an answer: 403, for one, comes from AWS and is none."""
    known = answer()
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or any(
        name not in document or (isinstance(value, list) and not isinstance(document[name], list))
        for name, value in known.items()
    ):
        detail = f"what came back, with status {status}, is no answer"
        return answer(reason=MODEL_UNAVAILABLE, detail=detail)
    return document
