"""The client: the ranker's answer, or one with a reason, whatever the other side does."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cli.server import serving
from leap_model import RankClient, Ranker
from tests.support import checked, request

PATIENT_S = 20.0


@contextmanager
def _server(reply: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server that does to every request what a test wants."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            reply(self)

        def do_GET(self) -> None:
            reply(self)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/rank"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _sends(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def _asked(url: str, timeout_s: float = PATIENT_S) -> dict[str, Any]:
    return checked(RankClient(url, timeout_s=timeout_s).rank(request()))


def _unavailable(answer: dict[str, Any]) -> None:
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
    assert answer["detail"]


@pytest.mark.parametrize(
    "asked",
    [
        request(),
        request(candidates=["moon", "fast-8", {"hardware_type": "mid-8", "cost_per_hour": 0}]),
        request(candidates=[]),
        request(job=5),
        request(launched_at="2026-01-12T10:11:12+05:30", allow_untrained=True),
        {},
    ],
)
def test_the_client_gives_the_ranker_s_answer(ranker: Ranker, asked: dict[str, Any]) -> None:
    with serving(ranker) as url:
        over_http = checked(RankClient(url, timeout_s=PATIENT_S).rank(asked))
    direct = ranker.rank(asked)
    assert {**over_http, "ranking_id": ""} == {**direct, "ranking_id": ""}


def test_a_refused_request_carries_the_server_s_answer(ranker: Ranker) -> None:
    with serving(ranker) as url:
        answer = checked(RankClient(url, timeout_s=PATIENT_S).rank({"job": {}, "candidates": []}))
    assert answer["reason"] == "invalid_request"
    assert "job.job_name" in answer["detail"]


def test_a_request_that_is_too_large_for_the_server_is_never_ranked(ranker: Ranker) -> None:
    with serving(ranker) as url:
        answer = checked(RankClient(url, timeout_s=PATIENT_S).rank(request(filler="x" * 600_000)))
    # The server answers without reading: its 400 may be lost with the connection.
    assert answer["reason"] in ("invalid_request", "model_unavailable")


def test_a_dead_port_is_model_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    _unavailable(_asked(f"http://127.0.0.1:{port}/rank"))


def test_a_server_that_never_answers_is_model_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        _unavailable(_asked(f"http://127.0.0.1:{port}/rank", timeout_s=0.1))


def test_a_server_that_trickles_is_cut_off() -> None:
    done = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not done.wait(0.02):
            handler.wfile.write(b" ")

    with _server(trickle) as url:
        _unavailable(_asked(url, timeout_s=0.2))
        done.set()


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>", b"{", b"null", b"[]", b"5", b"{}", b'{"preference": 5}', b"\xff"),
        *(b'{"message": "Internal Server Error"}', b"[" * 100_000, b" " * 5_000_000),
    ],
    ids=lambda body: repr(body[:20]),
)
@pytest.mark.parametrize("status", [200, 502])
def test_a_body_that_is_no_answer_is_model_unavailable(body: bytes, status: int) -> None:
    with _server(_sends(status, body)) as url:
        _unavailable(_asked(url))


@pytest.mark.parametrize(
    "body",
    [b'{"preference": []}', b'{"preference": [], "reason": null, "excluded": 5}'],
)
def test_an_answer_without_every_key_is_completed_or_refused(body: bytes) -> None:
    with _server(_sends(200, body)) as url:
        _unavailable(_asked(url))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["/rank", "ftp://127.0.0.1/x", "file:///etc/passwd", "//", ""])
def test_a_redirect_is_model_unavailable(status: int, place: str) -> None:
    with _server(_sends(status, b"", Location=place)) as url:
        _unavailable(_asked(url))


def test_a_connection_that_breaks_is_model_unavailable() -> None:
    def break_off(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"preference": [')

    with _server(break_off) as url:
        _unavailable(_asked(url))


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1:80/rank", "", "http://", "http://["],
)
def test_a_url_that_is_not_http_is_model_unavailable(url: str) -> None:
    _unavailable(_asked(url))


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x"], ids=["set", "object", "bytes"])
def test_a_request_that_is_not_json_is_invalid(value: Any) -> None:
    answer = checked(RankClient("http://127.0.0.1:1/").rank({"job": value}))
    assert answer["reason"] == "invalid_request"


def test_a_request_that_holds_itself_is_invalid() -> None:
    loop = request()
    loop["self"] = loop
    assert checked(RankClient("http://127.0.0.1:1/").rank(loop))["reason"] == "invalid_request"


def test_no_time_is_no_answer_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        _unavailable(_asked(f"http://127.0.0.1:{port}/rank", timeout_s=0.0))


@pytest.mark.parametrize("timeout_s", [float("inf"), float("nan"), -1.0, 1e300])
def test_a_timeout_that_is_no_time_does_not_raise(timeout_s: float) -> None:
    answer = checked(RankClient("no url", timeout_s).rank(request()))
    assert answer["preference"] == []
