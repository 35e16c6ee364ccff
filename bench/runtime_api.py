"""Lambda's runtime API on this machine, and a function that `awslambdaric` runs against it."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final

_PREFIX: Final = "/2018-06-01/runtime"
_TIMEOUT_S: Final = 60.0
_PATIENCE_S: Final = 120.0
_KEPT: Final = ("PATH", "LANG", "LC_ALL")


class FunctionError(Exception):
    """The function failed, or did not answer."""


@dataclass(slots=True)
class RuntimeApi:
    """Hands events to whatever asks for the next one, one at a time."""

    address: str = ""
    _events: "queue.Queue[tuple[str, bytes]]" = field(default_factory=queue.Queue)
    _answers: "queue.Queue[tuple[str, bytes, float]]" = field(default_factory=queue.Queue)

    def invoke(self, event: Any) -> tuple[Any, float]:
        """What the function answers to an event, and when: `time.monotonic()` of its last byte.

        Raises
        ------
        FunctionError
            It reported an error, or nothing within two minutes.
        """
        self._events.put((str(uuid.uuid4()), json.dumps(event).encode()))
        try:
            kind, body, at = self._answers.get(timeout=_PATIENCE_S)
        except queue.Empty:
            raise FunctionError(f"no answer within {_PATIENCE_S:g} s") from None
        if kind != "response":
            raise FunctionError(body.decode(errors="replace"))
        return json.loads(body), at


@contextmanager
def runtime_api() -> Iterator[RuntimeApi]:
    """Serve while the block runs."""
    api = RuntimeApi()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": api}))
    server.daemon_threads = True
    api.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def function(
    api: RuntimeApi,
    handler: str,
    code: list[Path],
    environment: Mapping[str, str],
    folder: Path,
    log: Path,
) -> Iterator[subprocess.Popen[bytes]]:
    """A function's process, as Lambda starts it.

    Parameters
    ----------
    api, handler : RuntimeApi, str
        Where it asks for events, and what answers them.
    code : list of Path
        Where its modules are looked for, in order; the first is its bundle.
    environment : mapping
        Its variables besides Lambda's own, which are all that it gets.
    folder, log : Path
        Its temporary folder, and where its log goes.
    """
    lambdas = {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_LAMBDA_FUNCTION_NAME": handler.replace(".", "-"),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_LOG_GROUP_NAME": "bench",
        "AWS_LAMBDA_LOG_STREAM_NAME": "bench",
        "LAMBDA_TASK_ROOT": str(code[0]),
        "PYTHONPATH": os.pathsep.join(map(str, code)),
        "TMPDIR": str(folder),
        "_HANDLER": handler,
    }
    command = [sys.executable, "-m", "awslambdaric", handler]
    with (
        log.open("ab") as said,
        subprocess.Popen(
            command, env=lambdas | dict(environment), stdout=said, stderr=said, cwd=code[0]
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def processor_seconds(process: int) -> float:
    """What a process has used so far, in user and system time."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(process: int) -> float:
    """The memory that a process has in use."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class _Handler(BaseHTTPRequestHandler):
    api: ClassVar[RuntimeApi]
    protocol_version = "HTTP/1.1"
    # Headers and body go out by themselves: one would else wait for the other's receipt, 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """The next event; waits for one."""
        if self.path != f"{_PREFIX}/invocation/next":
            self.send_error(404)
            return
        identity, event = self.api._events.get()
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", identity)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + _TIMEOUT_S) * 1e3)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:::function:bench")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(event)))
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self) -> None:
        """An answer, or an error of an invocation or of the start."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.api._answers.put((self.path.rpartition("/")[2], body, time.monotonic()))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle(self) -> None:
        """Until the function's process is ended, which closes the connection in its own way."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Quiet."""
