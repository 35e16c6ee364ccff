"""AWS Signature Version 4 of a POST to a Lambda function URL.

Written out, since botocore's own signer puts the session token into its debug log.
"""

import hashlib
import hmac
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_SERVICE = "lambda"
_PORTS = {"http": 80, "https": 443}


class Credentials(NamedTuple):
    """What AWS knows a caller by; `token` is None for credentials that do not expire."""

    access_key: str
    secret_key: str
    token: str | None


def signed_headers(
    url: str, body: bytes, credentials: Credentials, region: str, now: datetime
) -> dict[str, str]:
    """The headers of a signed POST of JSON, all of them covered by the signature.

    Parameters
    ----------
    url : str
        With scheme and host; path and query as they are sent.
    body : bytes
        What is posted.
    credentials : Credentials
        Whose call it is.
    region : str
        Of the function.
    now : datetime
        In UTC; AWS takes calls of the last five minutes.
    """
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"Content-Type": "application/json", "Host": _host(url), "X-Amz-Date": stamp}
    if credentials.token:
        headers["X-Amz-Security-Token"] = credentials.token
    lower = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    names = ";".join(sorted(lower))
    canonical = "\n".join(
        (
            "POST",
            _path(urlsplit(url).path),
            _query(urlsplit(url).query),
            *(f"{name}:{lower[name]}" for name in sorted(lower)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return headers


def _host(url: str) -> str:
    """The Host header: lower case, with a port only where it is not the scheme's own."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return host if parts.port in (None, _PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def _path(path: str) -> str:
    """Encoded once more than it is sent, without dot segments and empty ones."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    slash = "/" if kept and path.endswith("/") else ""
    return quote(f"/{'/'.join(kept)}{slash}")


def _query(query: str) -> str:
    pairs = [part.partition("=")[::2] for part in query.split("&") if query]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
