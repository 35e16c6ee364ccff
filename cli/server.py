"""Serves rankings over HTTP on this machine only: what `leap demo` asks."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from leap_model import Ranker
from leap_model.answer import INVALID_REQUEST, answer
from leap_model.limits import MOST_REQUEST_BYTES

_PATH = "/rank"
_IDLE_S = 5.0
"""Seconds after which a silent connection is dropped."""


@contextmanager
def serving(ranker: Ranker) -> Iterator[str]:
    """Serve while the block runs; yields the URL. The port is one that the system has free."""
    handler = type("Handler", (_Handler,), {"ranker": ranker})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{_PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    ranker: ClassVar[Ranker]
    timeout = _IDLE_S
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a ranking request: 200, or 400 where the request is invalid."""
        if self.path.rstrip("/") != _PATH:
            self.send_error(404)
            return
        document = self._rank()
        content = json.dumps(document, allow_nan=False).encode()
        self.send_response(400 if document["reason"] == INVALID_REQUEST else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _rank(self) -> dict[str, Any]:
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if not 0 <= length <= MOST_REQUEST_BYTES:
            self.close_connection = True  # what was announced stays unread
            most = MOST_REQUEST_BYTES // 1024
            return answer(reason=INVALID_REQUEST, detail=f"the request must be at most {most} KB")
        try:
            request = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            return answer(reason=INVALID_REQUEST, detail="the request must be one JSON object")
        return self.ranker.rank(request)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Quiet: a request line may carry what a person typed."""
