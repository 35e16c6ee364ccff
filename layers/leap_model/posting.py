"""One HTTP POST with the standard library. Apart, because importing it costs 50 ms."""

import urllib.error
import urllib.request

_MOST_BYTES = 4 * 1024 * 1024


def post(url: str, body: bytes, timeout_s: float) -> bytes:
    """The content of the response to a JSON body, also of one that refuses.

    Raises
    ------
    Exception
        Whatever goes wrong on the way; ValueError for a URL that is not http or https.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError("the URL is not http or https")
    call = urllib.request.Request(  # noqa: S310 - the scheme was checked
        url, body, {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(call, timeout=timeout_s) as response:  # noqa: S310
            content: bytes = response.read(_MOST_BYTES)
            return content
    except urllib.error.HTTPError as refusal:
        with refusal:  # it may carry an answer, such as 400 for invalid_request
            return refusal.read(_MOST_BYTES)
