"""The server that stands in for AWS: started, waited for, and ended for sure."""

import json
import socket
import ssl
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cli.local_aws import server
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.server import LocalAws, local_aws
from tests.unit.local_aws.processes import eventually, is_open

FAKE = """#!{python}
import http.server, json, os, ssl, sys, time
assert sys.argv[1:] == ["-m", "ministack"], sys.argv
print("starting", flush=True)
open({told!r}, "w").write(json.dumps(dict(os.environ)))
open(os.path.join(os.environ["TMPDIR"], "unpacked"), "w").close()
{first}
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        self.send_response(200 if Handler.asked > 2 else 503)
        self.end_headers()
    def log_message(self, *_):
        pass
address = (os.environ["BIND_HOST"], int(os.environ["GATEWAY_PORT"]))
server = http.server.HTTPServer(address, Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.environ["MINISTACK_SSL_CERT"], os.environ["MINISTACK_SSL_KEY"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a fake server, installed in place of the real one, writes its environment."""
    told = tmp_path / "told.json"
    monkeypatch.setattr(server, "INTERPRETER", tmp_path / "python")
    _install(told)
    return told


def _install(told: Path, first: str = "") -> None:
    program = told.with_name("python")
    program.write_text(FAKE.format(python=sys.executable, told=str(told), first=first))
    program.chmod(0o755)


def _served(told: Path) -> AbstractContextManager[LocalAws]:
    return local_aws(told.with_name("log"))


def _environment(told: Path) -> dict[str, str]:
    document: dict[str, Any] = json.loads(told.read_text())
    return document


def _port(aws: LocalAws) -> int:
    assert aws.endpoint.startswith("https://127.0.0.1:")
    return int(aws.endpoint.rpartition(":")[2])


def test_it_serves_while_the_block_runs_and_leaves_nothing(told: Path) -> None:
    with _served(told) as aws:
        assert is_open(_port(aws))
        folder = Path(_environment(told)["TMPDIR"])
        assert (folder / "unpacked").exists()
    assert not is_open(_port(aws))
    assert not folder.exists()


def test_an_interrupted_block_leaves_nothing_either(told: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        _served(told) as aws,
    ):
        raise KeyboardInterrupt
    assert not is_open(_port(aws))
    assert not Path(_environment(told)["TMPDIR"]).exists()


def test_it_listens_on_this_machine_alone_and_starts_nothing_else(told: Path) -> None:
    with _served(told) as aws:
        environment = _environment(told)
    assert environment["BIND_HOST"] == "127.0.0.1"
    assert environment["AWS_ENDPOINT_URL"] == aws.endpoint
    assert environment["IOT_MTLS_ENABLED"] == environment["SFTP_ENABLED"] == "0"
    assert not Path(environment["DOCKER_HOST"].removeprefix("unix://")).exists()


def test_it_checks_signatures_and_policies_over_tls(told: Path) -> None:
    with _served(told) as aws:
        environment = _environment(told)
        trusted = ssl.create_default_context(cafile=str(aws.certificate))
        with (
            socket.create_connection(("127.0.0.1", _port(aws))) as plain,
            trusted.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
        ):
            assert secured.version() == "TLSv1.3"
    assert environment["AUTH"] == "true"
    assert environment["USE_SSL"] == "1"
    assert environment["AWS_SECRET_ACCESS_KEY"] == aws.secret_key


def test_neither_key_nor_certificate_nor_secret_outlives_it(told: Path) -> None:
    with _served(told) as aws:
        key = Path(_environment(told)["MINISTACK_SSL_KEY"])
        assert key.stat().st_mode & 0o077 == 0
    with _served(told) as other:
        assert other.secret_key != aws.secret_key
    assert not key.exists()
    assert not aws.certificate.exists()


def test_functions_inherit_nothing_of_who_started_it(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "PYTHONPATH", "LEAP_STORE", "HTTPS_PROXY")
    for name in secrets:
        monkeypatch.setenv(name, "mine")
    with _served(told):
        assert "mine" not in _environment(told).values()


def test_two_of_them_run_side_by_side(told: Path) -> None:
    with _served(told) as first, _served(told) as second:
        assert _port(first) != _port(second)


def test_one_that_ends_at_once_is_an_error_that_quotes_it(told: Path) -> None:
    _install(told, first='sys.exit("no such module")')
    with (
        pytest.raises(LocalAwsError, match=r"ended when it was started:\nstarting\nno such module"),
        _served(told),
    ):
        raise AssertionError("it never started")


def test_one_that_never_answers_is_ended(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_START_S", 0.5)
    _install(told, first="time.sleep(600)")
    with (
        pytest.raises(LocalAwsError, match=r"not ready after 0\.5 s"),
        _served(told),
    ):
        raise AssertionError("it never started")
    assert eventually(lambda: not Path(_environment(told)["TMPDIR"]).exists())


def test_without_its_environment_the_error_says_what_to_do(told: Path) -> None:
    told.with_name("python").unlink()
    with pytest.raises(LocalAwsError, match="run make demo"), _served(told):
        raise AssertionError("it never started")


def test_a_function_url_is_asked_at_the_server_itself(tmp_path: Path) -> None:
    aws = LocalAws("https://127.0.0.1:40001", tmp_path, "secret")
    url = "https://ulfnmj31qpooyobgwp1gotpdqpzo1i7j.lambda-url.us-east-1.on.aws/"
    assert aws.reached(url) == (
        "https://127.0.0.1:40001/_aws/lambda-url/ulfnmj31qpooyobgwp1gotpdqpzo1i7j/"
    )
