"""Signatures are those that botocore makes, and what they need is looked up once."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from unittest import mock

import botocore.auth
import botocore.session
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from leap_model.errors import SigningError
from leap_model.signing import Signer, is_function_url
from leap_model.sigv4 import Credentials, signed_headers

NOW = datetime(2026, 2, 1, 9, 0, 3, tzinfo=UTC)
URL = "https://abcdefghij2klmnopq3rstuvwx4yzabc.lambda-url.eu-west-1.on.aws/"
PLAIN = Credentials("AKIAEXAMPLE", "not/a+real=secret", None)
SESSION = Credentials("ASIAEXAMPLE", "another/secret", "token//with+signs==")
WAIT_S = 20.0


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up that outlives its test asks no network."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def _botocore_s(url: str, body: bytes, credentials: Credentials, region: str) -> dict[str, str]:
    call = AWSRequest("POST", url, headers={"Content-Type": "application/json"}, data=body)
    with mock.patch.object(botocore.auth, "get_current_datetime", return_value=NOW):
        SigV4Auth(credentials, "lambda", region).add_auth(call)
    return dict(call.headers.items())


@pytest.mark.parametrize("credentials", [PLAIN, SESSION], ids=["plain", "session"])
@pytest.mark.parametrize("body", [b"", b'{"job": {}}', "é".encode() * 1000])
@pytest.mark.parametrize(
    "url",
    [
        *(
            URL,
            URL[:-1],
            f"{URL}rank",
            f"{URL}rank/",
            f"{URL}a//b/./c/../d",
            f"{URL}..",
            f"{URL}//",
        ),
        *(f"{URL}a%20b", f"{URL}a~b_c-d.e", f"{URL}x=y&z", f"{URL}rank?b=2&a=1&a=0&c", f"{URL}?"),
        *(f"{URL}?q=a%2Fb&&", URL.upper().replace("HTTPS", "https"), f"{URL[:-1]}:443/rank"),
        *(f"{URL[:-1]}:8443/rank", "http://127.0.0.1:4566/rank", "http://127.0.0.1:80/"),
        *("http://[::1]:4566/rank", "http://[::1]/", "https://localhost"),
    ],
)
def test_headers_are_those_of_botocore(url: str, body: bytes, credentials: Credentials) -> None:
    ours = signed_headers(url, body, credentials, "eu-west-1", NOW)
    theirs = _botocore_s(url, body, credentials, "eu-west-1")
    assert ours.pop("Host")
    assert ours == theirs


def test_the_host_is_signed_as_it_is_sent() -> None:
    for url, host in (
        (URL, URL[8:-1]),
        ("https://LOCALHOST:443/x", "localhost"),
        ("http://localhost:443/x", "localhost:443"),
        ("http://[::1]:4566/", "[::1]:4566"),
    ):
        assert signed_headers(url, b"", PLAIN, "eu-west-1", NOW)["Host"] == host


def test_a_session_s_token_is_sent_and_signed() -> None:
    headers = signed_headers(URL, b"", SESSION, "eu-west-1", NOW)
    assert headers["X-Amz-Security-Token"] == SESSION.token
    assert "x-amz-security-token" in headers["Authorization"]
    assert "X-Amz-Security-Token" not in signed_headers(URL, b"", PLAIN, "eu-west-1", NOW)


@pytest.mark.parametrize("url", [URL, URL[:-1], f"{URL}rank", f"{URL[:-1]}:443/", f"{URL}?x=1"])
def test_a_function_s_url_is_known(url: str) -> None:
    assert is_function_url(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "no url", "http://127.0.0.1:4566/rank", URL.replace("https", "http")),
        *(f"{URL[:-1]}.example.com/", URL.replace("on.aws", "onxaws"), f"https://evil/?{URL}"),
        *(URL.replace("lambda-url", "lambda"), "https://lambda-url.eu-west-1.on.aws/"),
        f"https://user@{URL[8:]}",
    ],
)
def test_other_urls_are_not(url: str) -> None:
    assert not is_function_url(url)


class _Source:
    """Credentials that change, as those that expire do."""

    def __init__(self) -> None:
        self.asked = 0

    def get_frozen_credentials(self) -> Any:
        self.asked += 1
        return Credentials(f"key-{self.asked}", "secret", None)


class _Session(NamedTuple):
    """What botocore's session is asked for."""

    credentials: Any
    region: str | None = None
    wait: threading.Event | None = None

    def get_credentials(self) -> Any:
        if self.wait is not None:
            self.wait.wait(60.0)
        return self.credentials

    def get_config_variable(self, name: str) -> str | None:
        assert name == "region"
        return self.region


@contextmanager
def _botocore_giving(*sessions: _Session | Exception) -> Iterator[list[int]]:
    """Each look-up gives the next of these, and the last again and again."""
    looked: list[int] = []

    def get_session() -> _Session:
        looked.append(1)
        session = sessions[min(len(looked), len(sessions)) - 1]
        if isinstance(session, Exception):
            raise session
        return session

    with mock.patch.object(botocore.session, "get_session", get_session):
        yield looked


def _headers(signer: Signer) -> dict[str, str]:
    return dict(signer.headers(b"{}", WAIT_S))


def test_credentials_are_looked_up_once_and_asked_for_each_call() -> None:
    source = _Source()
    with _botocore_giving(_Session(source)) as looked:
        signer = Signer(URL)
        keys = [_headers(signer)["Authorization"].split("=")[1].split("/")[0] for _ in range(3)]
    assert keys == ["key-1", "key-2", "key-3"]
    assert len(looked) == 1


def test_the_region_is_the_url_s_or_else_the_configuration_s() -> None:
    for url, region in ((URL, "eu-west-1"), ("http://127.0.0.1:4566/", "ap-south-1")):
        with _botocore_giving(_Session(_Source(), "ap-south-1")):
            assert f"/{region}/lambda/aws4_request" in _headers(Signer(url))["Authorization"]


@pytest.mark.parametrize(
    ("session", "url", "why"),
    [
        (_Session(None), URL, "no AWS credentials were found"),
        (_Session(_Source()), "http://127.0.0.1:4566/", "names a region"),
    ],
)
def test_what_is_missing_is_said(session: _Session, url: str, why: str) -> None:
    with _botocore_giving(session), pytest.raises(SigningError, match=why):
        _headers(Signer(url))


def test_a_missing_botocore_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(SigningError, match=r"leap\[aws\]"):
        _headers(Signer(URL))


def test_credentials_that_were_not_there_are_looked_up_again() -> None:
    with _botocore_giving(_Session(None), _Session(None), _Session(_Source())) as looked:
        signer = Signer(URL)
        for _ in range(10):
            try:
                headers = _headers(signer)
                break
            except SigningError:
                continue
        assert headers["Authorization"]
        assert len(looked) == 3


def test_a_look_up_that_takes_long_is_waited_for_only_so_long() -> None:
    found = threading.Event()
    with _botocore_giving(_Session(_Source(), wait=found)) as looked:
        signer = Signer(URL)
        while not looked:  # the early look-up has begun
            threading.Event().wait(0.005)
        with pytest.raises(SigningError, match="too long"):
            signer.headers(b"{}", 0.05)
        with pytest.raises(SigningError, match="too long"):
            signer.headers(b"{}", -1.0)
        found.set()
        assert _headers(signer)["Authorization"]
        assert len(looked) == 1


def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fixed = mock.Mock(get_frozen_credentials=mock.Mock(return_value=SESSION))
    with _botocore_giving(_Session(fixed)):
        assert _headers(Signer(URL))["X-Amz-Security-Token"] == SESSION.token
    for secret in (SESSION.secret_key, str(SESSION.token)):
        assert secret not in caplog.text
