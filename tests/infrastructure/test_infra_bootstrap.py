"""What a bare image starts with: signed as AWS's own library signs, and becoming the run."""

import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from infra.assets import bootstrap

SOURCE = Path(bootstrap.__file__)
CODE = "https://s3.eu-west-1.amazonaws.com/cdk-assets-123456789012-eu-west-1/0a1b.zip"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SAYS = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "stage": os.environ["LEAP_STAGE"], "cwd": os.getcwd(),
                  "path": os.environ["PYTHONPATH"], "left": sorted(os.listdir("."))}))
"""

Answer = Callable[[BaseHTTPRequestHandler], tuple[int, bytes]]


@contextmanager
def server(answer: Answer, promised: int | None = None) -> Iterator[str]:
    """Something that answers GETs on this machine, with as many bytes as promised; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self)
            self.send_response(status)
            self.send_header("Content-Length", str(promised or len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join()


def variables(endpoint: str, **more: str) -> dict[str, str]:
    """A task's environment where AWS is at another address."""
    return {
        "LEAP_CODE": CODE,
        "LEAP_STAGE": "dev",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        **more,
    }


@pytest.mark.parametrize("token", ["", "a session/token+="])
@pytest.mark.parametrize("url", [CODE, "http://127.0.0.1:4566/bucket/key.zip"])
def test_it_signs_as_aws_s_own_library_does(url: str, token: str) -> None:
    request = AWSRequest("GET", url)
    keys = Credentials("AKIDEXAMPLE", "wJalr/secret+", token or None)
    payload = patch.object(S3SigV4Auth, "payload", lambda *_: bootstrap.NOTHING)
    with patch("botocore.auth.get_current_datetime", return_value=NOW), payload:
        S3SigV4Auth(keys, "s3", "eu-west-1").add_auth(request)
    ours = bootstrap.signed(
        url, ("AKIDEXAMPLE", "wJalr/secret+", token), "eu-west-1", NOW.timetuple()
    )
    theirs = {name.lower(): value for name, value in request.headers.items()}
    assert {name: value for name, value in ours.items() if name != "host"} == theirs


def test_the_code_is_where_it_is_said_to_be_or_where_aws_is_stood_in_for() -> None:
    assert bootstrap.address({"LEAP_CODE": CODE}) == CODE
    local = {"LEAP_CODE": CODE, "AWS_ENDPOINT_URL": "http://127.0.0.1:4566/"}
    found = "http://127.0.0.1:4566/cdk-assets-123456789012-eu-west-1/0a1b.zip"
    assert bootstrap.address(local) == found


def test_a_task_has_the_credentials_of_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        asked.append(request.path)
        keys = {"AccessKeyId": "ASIA", "SecretAccessKey": "s", "Token": "t", "Expiration": "…"}
        return 200, json.dumps(keys).encode()

    with server(answer) as url:
        monkeypatch.setattr(bootstrap, "TASK_CREDENTIALS", url)
        environment = {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1-2"}
        assert bootstrap.credentials(environment) == ("ASIA", "s", "t")
    assert asked == ["/v2/credentials/1-2"]
    assert bootstrap.credentials(variables("")) == ("AKIDEXAMPLE", "secret", "")


def test_a_fault_of_aws_is_tried_again_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [(503, b"<Code>SlowDown</Code>"), (403, b"<Code>AccessDenied</Code>"), (200, b"zip")]
    left = iter(answers)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with server(lambda _: next(left)) as url:
        assert bootstrap.fetch(variables(url), tmp_path / "code.zip")
    assert (tmp_path / "code.zip").read_bytes() == b"zip"
    said = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert len(said) == 2
    assert "503" in said[0]
    assert "AccessDenied" in said[1]


def test_it_gives_up_where_nothing_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    with server(lambda _: (404, b"<Code>NoSuchKey</Code>")) as url:
        assert not bootstrap.fetch(variables(url), tmp_path / "code.zip")
    assert waits == [2, 4, 8]
    assert capsys.readouterr().out.count("NoSuchKey") == bootstrap.ATTEMPTS


def test_an_answer_that_ends_early_is_none(tmp_path: Path) -> None:
    with (
        server(lambda _: (200, b"half"), promised=10) as url,
        pytest.raises(OSError, match="early"),
    ):
        bootstrap.download(variables(url), tmp_path / "code.zip")


def test_a_container_may_be_told_to_run_another_module(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("worker.py", "import sys; print(sys.argv[1:])")
    with server(lambda _: (200, archive.getvalue())) as url:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", SOURCE.read_text()],
            env={
                **variables(url),
                "TMPDIR": str(tmp_path),
                "LEAP_RUN": "worker tcp://10.0.0.1:8786 --name 'a b'",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "['tcp://10.0.0.1:8786', '--name', 'a b']\n", done.stderr


def test_the_text_that_a_container_is_given_becomes_the_run(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("functions/__init__.py", "")
        opened.writestr("functions/retrain/__init__.py", "")
        opened.writestr("functions/retrain/__main__.py", SAYS)
    asked: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        asked.append(f"{request.path} {request.headers['Authorization'].partition(' ')[0]}")
        return 200, archive.getvalue()

    with server(answer) as url:
        done = subprocess.run(
            # As in the task definition, in an interpreter that has the standard library alone.
            [sys.executable, "-I", "-S", "-c", SOURCE.read_text()],
            env={**variables(url), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert asked == ["/cdk-assets-123456789012-eu-west-1/0a1b.zip AWS4-HMAC-SHA256"]
    assert said["stage"] == "dev"
    assert said["cwd"] == said["path"]
    assert Path(said["cwd"]).parent == tmp_path
    assert said["left"] == ["functions"]


def test_a_task_without_its_code_ends_as_a_failure(tmp_path: Path) -> None:
    quick = SOURCE.read_text().replace("time.sleep(2**attempt)", "time.sleep(0)")
    with server(lambda _: (404, b"")) as url:
        done = subprocess.run(
            [sys.executable, "-I", "-c", quick],
            env={**variables(url), "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "404" in done.stdout


def test_it_needs_nothing_but_the_standard_library() -> None:
    names = [
        line.split()[1].partition(".")[0]
        for line in SOURCE.read_text().splitlines()
        if line.startswith(("import ", "from "))
    ]
    assert set(names) <= sys.stdlib_module_names
