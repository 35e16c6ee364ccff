"""Signs calls to a Lambda function URL with the credentials that botocore finds and refreshes."""

import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from leap_model.errors import SigningError
from leap_model.sigv4 import Credentials, signed_headers

_FUNCTION_URL = re.compile(r"https://[a-z0-9]+\.lambda-url\.[a-z0-9-]+\.on\.aws(?=[:/?]|$)")
_REGION = re.compile(r"\.lambda-url\.([a-z0-9-]+)\.")


def is_function_url(url: object) -> bool:
    """Whether a URL is that of a Lambda function, whose calls are to be signed."""
    return isinstance(url, str) and _FUNCTION_URL.match(url) is not None


class Signer:
    """Signs calls to one function with the credentials that botocore finds.

    They are looked up once, in the background from now on: it takes longer than a launcher waits.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._found: tuple[Any, str] | None = None
        with suppress(RuntimeError):  # without a thread to spare, the first call looks
            threading.Thread(target=self._look_up_early, daemon=True).start()

    def headers(self, body: bytes, timeout_s: float) -> Mapping[str, str]:
        """The headers of a call with this body, waiting at most so long for another's look-up.

        Raises
        ------
        SigningError
            There is no botocore, no credentials or no region.
        Exception
            Whatever botocore fails with.
        """
        source, region = self._known(timeout_s)
        frozen = source.get_frozen_credentials()  # refreshed where they have expired
        credentials = Credentials(frozen.access_key, frozen.secret_key, frozen.token)
        return signed_headers(self._url, body, credentials, region, datetime.now(UTC))

    def _known(self, timeout_s: float) -> tuple[Any, str]:
        if self._found is None:
            if not self._lock.acquire(timeout=max(timeout_s, 0.0)):
                raise SigningError("the look-up of AWS credentials takes too long")
            try:
                self._found = self._found or _look_up(self._url)
            finally:
                self._lock.release()
        return self._found

    def _look_up_early(self) -> None:
        try:
            self._known(timeout_s=0.0)
        except Exception:  # said when a call is to be signed, which looks again
            return


def _look_up(url: str) -> tuple[Any, str]:
    """botocore's credentials, and the region of a function."""
    try:
        from botocore.session import get_session
    except ImportError:
        raise SigningError("signing needs botocore: install leap[aws]") from None
    session = get_session()
    named = _REGION.search(url)
    region = named[1] if named else session.get_config_variable("region")
    credentials = session.get_credentials()
    if credentials is None:
        raise SigningError("no AWS credentials were found")
    if not region:
        raise SigningError("neither the URL nor the AWS configuration names a region")
    return credentials, str(region)
