"""One HTTP POST with the standard library. Apart, because importing it costs 50 ms."""

import urllib.error
import urllib.request
from collections.abc import Mapping

_MOST_BYTES = 4 * 1024 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other: following it would hand a signed call to others."""

    def redirect_request(self, *_: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def post(url: str, body: bytes, timeout_s: float, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and content of the response to a body, also of one that refuses.

    Raises
    ------
    Exception
        Whatever goes wrong on the way; ValueError for a URL that is not http or https.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError("the URL is not http or https")
    call = urllib.request.Request(url, body, dict(headers), method="POST")  # noqa: S310 - checked
    try:
        with _opener.open(call, timeout=timeout_s) as response:
            return response.status, response.read(_MOST_BYTES)
    except urllib.error.HTTPError as refusal:
        with refusal:  # it may carry an answer, such as 400 for invalid_request
            return refusal.code, refusal.read(_MOST_BYTES)
