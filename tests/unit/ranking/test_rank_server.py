"""The local rank server: what it answers, and that it ends."""

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.server import serving
from leap_model import Ranker
from tests.support import checked, request


@pytest.fixture(scope="module")
def url(ranker: Ranker) -> Iterator[str]:
    with serving(ranker) as url:
        yield url


def _call(
    url: str, body: bytes, path: str = "/rank", method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _raw(url: str, sent: bytes) -> bytes:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as link:
        link.sendall(sent)
        received = b""
        while part := link.recv(65536):
            received += part
        return received


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ranking_id"}


@pytest.mark.parametrize("path", ["/rank", "/rank/"])
def test_a_request_gets_the_ranker_s_answer(url: str, ranker: Ranker, path: str) -> None:
    status, content = _call(url, json.dumps(request()).encode(), path)
    assert status == 200
    assert _plain(checked(json.loads(content))) == _plain(ranker.rank(request()))


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"null", b"[]", b"5", b"\xff\xfe", b"[" * 100_000, b'{"job": 1}'),
        b'{"job": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:10]),
)
def test_a_bad_body_is_400_with_the_answer(url: str, body: bytes) -> None:
    status, content = _call(url, body)
    assert status == 400
    assert checked(json.loads(content))["reason"] == "invalid_request"


def test_only_invalid_requests_are_400(url: str) -> None:
    status, content = _call(url, json.dumps(request(candidates=[])).encode())
    assert (status, json.loads(content)["reason"]) == (200, "no_candidates")
    status, content = _call(url, json.dumps(request(candidates=["moon"])).encode())
    assert (status, json.loads(content)["reason"]) == (200, "all_excluded")


@pytest.mark.parametrize("path", ["/", "/ranks", "/rank/x", "/../etc/passwd"])
def test_another_path_is_404(url: str, path: str) -> None:
    assert _call(url, json.dumps(request()).encode(), path)[0] == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_another_method_is_refused(url: str, method: str) -> None:
    assert _call(url, b"", method=method)[0] == 501


@pytest.mark.parametrize("length", ["262145", "99999999999999999999", "-1", "x", "1e3"])
def test_a_length_that_is_too_large_or_none_is_refused_unread(url: str, length: str) -> None:
    received = _raw(url, f"POST /rank HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
    head, _, content = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert checked(json.loads(content))["reason"] == "invalid_request"


def test_a_request_without_a_length_is_400(url: str) -> None:
    received = _raw(url, b"POST /rank HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400")


def test_one_connection_serves_several_requests(url: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        for document in (request(), {}, request()):
            connection.request("POST", "/rank", json.dumps(document))
            answer = checked(json.loads(connection.getresponse().read()))
            assert answer["reason"] == (None if document else "invalid_request")
    finally:
        connection.close()


def test_it_listens_on_the_loopback_address_only(url: str) -> None:
    parts = urlsplit(url)
    assert parts.hostname == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", parts.port), timeout=10).close()


def test_it_stops_when_the_block_ends_even_with_a_silent_connection(ranker: Ranker) -> None:
    with serving(ranker) as url:
        parts = urlsplit(url)
        silent = socket.create_connection((parts.hostname, parts.port), timeout=10)
    silent.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((parts.hostname, parts.port), timeout=10).close()


def test_it_stops_when_the_block_fails(ranker: Ranker) -> None:
    ports = []

    def fail() -> None:
        with serving(ranker) as url:
            ports.append(urlsplit(url).port)
            raise KeyError(url)

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", ports[0]), timeout=10).close()
