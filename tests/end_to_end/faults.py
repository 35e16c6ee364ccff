"""What can go wrong between a stage and its AWS, brought about on purpose."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from cli.local_aws.server import HOST, LocalAws

LONGEST_S = 120.0
"""A call that nobody lets go on for so long is dropped: the test has failed by then."""
_OF_ONE_LEG = {"connection", "transfer-encoding", "content-length", "expect", "keep-alive"}


@dataclass(frozen=True)
class Answer:
    """What came back for a call."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Forward = Callable[[], Answer]
Send = Callable[[Answer], Any]
Rule = Callable[[str, Forward, Send], bool]
"""Told a call's name, how to forward it and how to answer it; False where it lets it pass."""


def refused(matches: Callable[[str], bool], status: int, code: str) -> Rule:
    """Calls that are never forwarded, and answered as S3 answers what it cannot do now."""
    body = f"<Error><Code>{code}</Code><Message>a test said so</Message></Error>".encode()

    def rule(name: str, forward: Forward, send: Send) -> bool:
        if not matches(name):
            return False
        send(Answer(status, [("Content-Type", "application/xml")], body))
        return True

    return rule


class Gate:
    """Stops one call and every one after it, until they may go on or are dropped.

    Parameters
    ----------
    matches : callable
        Whether the call of a name is the one.
    after : int
        Calls that match and pass first.
    only_those : bool
        Let other calls pass meanwhile.

    Attributes
    ----------
    reached, answered : Event
        A call was stopped; one that went on was answered.
    """

    def __init__(
        self, matches: Callable[[str], bool], after: int = 0, *, only_those: bool = False
    ) -> None:
        self.reached = threading.Event()
        self.answered = threading.Event()
        self._matches = matches
        self._after = after
        self._only_those = only_those
        self._decided = threading.Event()
        self._goes_on = False
        self._lock = threading.Lock()
        self._stopped = False

    def __call__(self, name: str, forward: Forward, send: Send) -> bool:
        if not self._stops(name):
            return False
        self.reached.set()
        self._decided.wait(LONGEST_S)
        if self._goes_on:
            send(forward())
            self.answered.set()
        return True

    def _stops(self, name: str) -> bool:
        with self._lock:
            if self._decided.is_set():
                return False
            matches = self._matches(name)
            if matches and self._after:
                self._after -= 1
                return False
            if not matches and (self._only_those or not self._stopped):
                return False
            self._stopped = True
            return True

    def let_go(self) -> None:
        """Forward what was stopped."""
        self._goes_on = True
        self._decided.set()

    def drop(self) -> None:
        """What was stopped never reaches AWS."""
        self._decided.set()


@dataclass
class Stall:
    """Answers whose bodies stop after some bytes, or come one byte at a time.

    `every_s` seconds lie between two bytes after the first `sent`; None: no more come.
    """

    matches: Callable[[str], bool]
    sent: int = 16
    every_s: float | None = None
    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, name: str, forward: Forward, send: Callable[..., Any]) -> bool:
        if self.over.is_set() or not self.matches(name):
            return False
        send(forward(), self._pieces)
        return True

    def _pieces(self, body: bytes) -> Iterator[bytes]:
        yield body[: self.sent]
        self.begun.set()
        for at in range(self.sent, len(body)):
            if self.over.wait(LONGEST_S if self.every_s is None else self.every_s):
                yield body[at:]
                return
            if self.every_s is None:
                return
            yield body[at : at + 1]


class Proxy:
    """A server in front of the local AWS that does to calls what its `rule` says.

    Attributes
    ----------
    rule : callable or None
        What to do with a call; None forwards it. May be replaced at any time.
    calls : list of str
        Names of the calls that came: verb and key of an object, or the action of another service.
    """

    def __init__(self, aws: LocalAws) -> None:
        self.rule: Rule | None = None
        self.calls: list[str] = []
        self._aws = aws
        self._server = _Server((HOST, 0), _Handler)
        self._server.proxy = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(aws.certificate, aws.certificate.parent / "key.pem")
        # The handshake is each connection's own thread's: one that stalls must not stop the rest.
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._trusted = ssl.create_default_context(cafile=str(aws.certificate))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        """Where it is, as a client's endpoint."""
        return f"https://{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def forward(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """What AWS answers."""
        address = urlsplit(self._aws.endpoint)
        upstream = HTTPSConnection(HOST, address.port, timeout=LONGEST_S, context=self._trusted)
        try:
            upstream.request(method, path, body or None, dict(headers))
            answer = upstream.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            upstream.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: Proxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that were killed, or gave up waiting, are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    bare: ClassVar[set[int]] = {204, 304}

    def _serve(self) -> None:
        self._answered = False
        body = self._body()
        headers = {
            name: value for name, value in self.headers.items() if name.lower() not in _OF_ONE_LEG
        }
        proxy, name = self.server.proxy, self._name()
        proxy.calls.append(name)

        def forward() -> Answer:
            return proxy.forward(self.command, self.path, headers, body)

        rule = proxy.rule
        if rule is None or not rule(name, forward, self._send):
            self._send(forward())
        elif not self._answered:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - the server's names

    def _name(self) -> str:
        action = self.headers.get("X-Amz-Target")
        if action:
            return action.rpartition(".")[2]
        key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]
        return f"{self.command} {key}"

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(
        self, answer: Answer, pieces: Callable[[bytes], Iterator[bytes]] = lambda body: iter([body])
    ) -> None:
        self._answered = True
        self.send_response_only(answer.status)
        length = str(len(answer.body))
        for name, value in answer.headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            if name.lower() not in _OF_ONE_LEG:
                self.send_header(name, value)
        if answer.status not in self.bare:
            self.send_header("Content-Length", length)
        self.end_headers()
        sent = 0
        if self.command != "HEAD":
            for piece in pieces(answer.body):
                self.wfile.write(piece)
                self.wfile.flush()
                sent += len(piece)
            self.close_connection = sent < len(answer.body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
