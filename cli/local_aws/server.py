"""The server that stands in for AWS: a process of its own, on 127.0.0.1, state in memory.

It speaks TLS, checks the signatures of roles and users, and enforces the policies that are deployed
to it. It does not check the account's own key: whoever signs as the account is taken for it.
"""

import os
import secrets
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final

from cli.local_aws.certificate import write_certificate
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.paths import INTERPRETER
from cli.local_aws.process import Process

HOST: Final = "127.0.0.1"
ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
_START_S: Final = 60.0
_LOOK_S: Final = 0.1
_KEPT: Final = ("PATH", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class LocalAws:
    """Where it is, and the secret key of its account, which it takes without checking it."""

    endpoint: str
    certificate: Path
    secret_key: str

    def reached(self, function_url: str) -> str:
        """Where it answers what is asked of a function URL, whose own host name nobody knows."""
        identity = function_url.removeprefix("https://").partition(".")[0]
        return f"{self.endpoint}/_aws/lambda-url/{identity}/"


@contextmanager
def local_aws(log: Path) -> Iterator[LocalAws]:
    """Serve while the block runs.

    Parameters
    ----------
    log : Path
        What the server says.

    Raises
    ------
    LocalAwsError
        It is not installed, or did not start.
    """
    if not INTERPRETER.exists():
        raise LocalAwsError(f"{INTERPRETER} is not there: run make demo, which sets it up")
    port = _free_port()
    # The server leaves unpacked functions there when it ends.
    folder = Path(tempfile.mkdtemp(prefix="leap-aws-"))
    certificate, key = write_certificate(folder, HOST)
    aws = LocalAws(f"https://{HOST}:{port}", certificate, secrets.token_hex(20))
    environment = _environment(aws, port, folder) | {
        "MINISTACK_SSL_CERT": str(certificate),
        "MINISTACK_SSL_KEY": str(key),
    }
    command = [str(INTERPRETER), "-m", "ministack"]
    with Process(command, environment, log, folder, remove=folder) as server:
        _wait(server, aws, port)
        yield aws


def _environment(aws: LocalAws, port: int, folder: Path) -> dict[str, str]:
    """Next to nothing of this one, since functions inherit it from the server."""
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "USE_SSL": "1",
        "AUTH": "true",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "AWS_SECRET_ACCESS_KEY": aws.secret_key,
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_CA_BUNDLE": str(aws.certificate),
        "SSL_CERT_FILE": str(aws.certificate),
        # It would start tasks in containers, and listen for MQTT and SFTP.
        "DOCKER_HOST": f"unix://{folder}/no-docker",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
    }


def _wait(server: Process, aws: LocalAws, port: int) -> None:
    deadline = time.monotonic() + _START_S
    trusted = ssl.create_default_context(cafile=str(aws.certificate))
    while not _ready(port, trusted):
        if server.exit_code is not None:
            raise LocalAwsError(f"the local AWS ended when it was started:\n{server.said()}")
        if time.monotonic() > deadline:
            raise LocalAwsError(f"the local AWS is not ready after {_START_S:g} s")
        time.sleep(_LOOK_S)


def _ready(port: int, trusted: ssl.SSLContext) -> bool:
    connection = HTTPSConnection(HOST, port, timeout=1.0, context=trusted)
    try:
        connection.request("GET", "/_ministack/ready")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
