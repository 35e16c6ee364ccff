"""The client and a server that lets in only calls whose signature it can make itself."""

import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import botocore.session
import pytest

from leap_model import RankClient, Ranker
from tests.support import checked, preferred, request

KEY, SECRET, TOKEN = "ASIAEXAMPLE", "not/a+real=secret", "session//token+=="
REGION = "eu-west-1"
PATIENT_S = 20.0


@dataclass
class Server:
    """Where it listens, what it demands and what came."""

    url: str = ""
    token: str | None = TOKEN
    redirect: int | None = None
    headers: list[dict[str, str]] = field(default_factory=list)


def _signature(handler: BaseHTTPRequestHandler, body: bytes, signed: list[str]) -> str:
    """AWS's own steps, from what came over the wire; written apart from the code under test."""
    stamp = str(handler.headers["X-Amz-Date"])
    lines = ["POST", handler.path, ""]
    lines += [f"{name}:{handler.headers[name].strip()}" for name in signed]
    lines += ["", ";".join(signed), hashlib.sha256(body).hexdigest()]
    hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    scope = [stamp[:8], REGION, "lambda", "aws4_request"]
    key = b"AWS4" + SECRET.encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope), hashed])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _is_let_in(handler: BaseHTTPRequestHandler, body: bytes, token: str | None) -> bool:
    algorithm, _, rest = handler.headers.get("Authorization", "").partition(" ")
    if algorithm != "AWS4-HMAC-SHA256":
        return False
    parts = dict(part.split("=", 1) for part in rest.split(", "))
    signed = parts["SignedHeaders"].split(";")
    stamp = datetime.strptime(handler.headers["X-Amz-Date"], "%Y%m%dT%H%M%S%z")
    return (
        signed == sorted(signed)
        and {"host", "x-amz-date"} <= set(signed)
        and abs(datetime.now(UTC) - stamp) < timedelta(minutes=5)
        and handler.headers.get("X-Amz-Security-Token") == token
        and parts["Credential"].startswith(f"{KEY}/")
        and parts["Signature"] == _signature(handler, body, signed)
    )


@pytest.fixture
def server(ranker: Ranker) -> Iterator[Server]:
    """A function URL with IAM authentication, as far as its caller can tell."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            document: Any = {"Message": "Forbidden"}
            status = 403
            if state.redirect:
                status = state.redirect
            elif _is_let_in(self, body, state.token):
                status, document = 200, ranker.rank(json.loads(body))
            content = json.dumps(document).encode()
            self.send_response(status)
            if state.redirect:
                self.send_header("Location", state.url)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            state.headers.append({})

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{listening.server_port}/rank"
    yield state
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials where launchers have them, and nowhere else."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def _asked(server: Server, sign: bool | None = True) -> dict[str, Any]:
    return checked(RankClient(server.url, PATIENT_S, sign=sign).rank(request()))


def test_a_signed_call_is_let_in_and_ranked(server: Server) -> None:
    assert len(preferred(_asked(server))) == 3


def test_credentials_without_a_session_are_let_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    server.token = None
    assert len(preferred(_asked(server))) == 3
    assert "x-amz-security-token" not in server.headers[0]


def test_a_path_of_several_parts_is_signed_as_it_is_sent(server: Server) -> None:
    server.url += "/of~stage-1_a.b/"
    assert len(preferred(_asked(server))) == 3


@pytest.mark.parametrize("sign", [False, None])
def test_a_call_that_is_not_signed_is_kept_out_with_the_status(
    server: Server, sign: bool | None
) -> None:
    answer = _asked(server, sign)
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert "403" in answer["detail"]
    assert "authorization" not in server.headers[0]


def test_another_secret_is_kept_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    assert "403" in _asked(server)["detail"]


def test_a_function_s_url_is_signed_without_being_told(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, str]] = []

    def post(url: str, body: bytes, timeout_s: float, headers: Any) -> tuple[int, bytes]:
        sent.append(dict(headers))
        return 500, b""

    url = "https://abc2def.lambda-url.us-west-2.on.aws/"
    monkeypatch.setattr("leap_model.posting.post", post)
    for sign in (None, True, False):
        checked(RankClient(url, PATIENT_S, sign=sign).rank(request()))
    signed = [headers.get("Authorization", "") for headers in sent]
    assert ["/us-west-2/lambda/" in text for text in signed] == [True, True, False]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_hands_the_signed_call_to_nobody(server: Server, status: int) -> None:
    server.redirect = status
    assert _asked(server)["reason"] == "model_unavailable"
    assert len(server.headers) == 1


def test_without_credentials_the_preference_is_empty_and_says_so(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    answer = _asked(server)
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert answer["detail"] == "no AWS credentials were found"
    assert server.headers == []


def test_credentials_that_take_long_cost_no_more_than_the_call_may_take(server: Server) -> None:
    found = threading.Event()

    class Slow:
        def get_credentials(self) -> None:
            found.wait(60.0)

        def get_config_variable(self, name: str) -> str:
            return REGION

    with mock.patch.object(botocore.session, "get_session", Slow):
        try:
            client = RankClient(server.url, timeout_s=0.2, sign=True)
            for _ in range(3):
                began = time.monotonic()
                answer = checked(client.rank(request()))
                assert time.monotonic() - began < 5.0
                assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
        finally:
            found.set()


def test_credentials_that_cannot_be_refreshed_are_model_unavailable(server: Server) -> None:
    class Expired:
        def get_frozen_credentials(self) -> None:
            raise RuntimeError(f"cannot refresh {SECRET}")

    class Session:
        def get_credentials(self) -> Expired:
            return Expired()

        def get_config_variable(self, name: str) -> str:
            return REGION

    with mock.patch.object(botocore.session, "get_session", Session):
        answer = _asked(server)
    assert answer["detail"] == "RuntimeError on the way"


def test_nothing_secret_is_in_logs_or_answers(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [_asked(server)]
    server.token = "other"
    answers.append(_asked(server))
    for secret in (SECRET, TOKEN):
        assert secret not in caplog.text
        assert secret not in json.dumps(answers)


@pytest.mark.parametrize("url", ["", "no url", "http://", "http://[", "ftp://127.0.0.1/", "https:"])
def test_what_is_no_url_raises_nothing_when_signed(url: str) -> None:
    answer = checked(RankClient(url, PATIENT_S, sign=True).rank(request()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


@pytest.mark.parametrize("sign", [True, False, None])
def test_a_url_that_was_never_set_raises_nothing(sign: bool | None) -> None:
    url: Any = None
    answer = checked(RankClient(url, PATIENT_S, sign=sign).rank(request()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


def test_one_client_signs_in_many_threads_at_once(server: Server) -> None:
    client = RankClient(server.url, PATIENT_S, sign=True)
    answers: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.rank(request()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(preferred(checked(answer))) for answer in answers] == [3] * 8
