"""The ingest function, started as Lambda starts it, with moto for AWS."""

import importlib
import io
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto import mock_aws

from leap_model.s3 import S3Store
from tests.aws import answer_one_at_a_time
from tests.unit.ingest.deliveries import NOW

REGION = "eu-west-1"
HANDLER = "functions.ingest.handler"


class Context:
    """What Lambda tells a function about its invocation."""

    function_name = "leap-test-ingest"
    function_version = "$LATEST"
    invoked_function_arn = f"arn:aws:lambda:{REGION}:123456789012:function:leap-test-ingest"
    memory_limit_in_mb = 512
    aws_request_id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
    log_group_name = "/aws/lambda/leap-test-ingest"
    log_stream_name = "2026/01/02/[$LATEST]00000000000000000000000000000000"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class _Output(io.TextIOBase):
    """Whatever the standard output is by now."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)


class Ingest:
    """The function: call it with an event. `store` is the bucket, as a reader sees it."""

    def __init__(self, mock: Any, capture: pytest.CaptureFixture[str]) -> None:
        self._mock = mock
        self._capture = capture
        self._printed = ""
        location = {"LocationConstraint": REGION}
        boto3.client("s3").create_bucket(Bucket="fleet", CreateBucketConfiguration=location)
        self.store: Any = S3Store("fleet", "leap")
        sys.modules.pop(HANDLER, None)
        self.module: Any = importlib.import_module(HANDLER)
        self.set_clock(lambda: NOW)
        # A logger keeps the output that it was made with, which may be another test's.
        self.module.logger.registered_handler.setStream(_Output())
        self.s3: Any = self.module.store._s3

    def __call__(self, event: dict[str, Any], seconds: float = 60.0) -> Any:
        return json.loads(json.dumps(self.module.handler(event, Context(seconds))))

    def set_clock(self, now_us: Callable[[], int]) -> None:
        """The function's clock from here on; at first it stands at NOW."""
        self.module.now_us = now_us

    def lines(self) -> list[dict[str, Any]]:
        """What the function printed; every line of it is one JSON object."""
        return [json.loads(line) for line in self.printed().splitlines()]

    def printed(self) -> str:
        """All of it."""
        self._printed += self._capture.readouterr().out
        return self._printed

    def lose_bucket(self) -> None:
        """Remove the bucket, which is empty."""
        self.s3.delete_bucket(Bucket="fleet")

    def leave_moto(self) -> None:
        """From here on clients reach whatever their endpoint is."""
        self._mock.stop()
        self._mock = None

    def end(self) -> None:
        """What a test leaves behind is gone."""
        sys.modules.pop(HANDLER, None)
        if self._mock is not None:
            self._mock.stop()


@contextmanager
def started(
    monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
) -> Iterator[Ingest]:
    """The function after its init phase. Sockets connect to this machine only."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("LEAP_STORE", "s3://fleet/leap")
    monkeypatch.setenv("LEAP_STAGE", "test")
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", "a test reached the network"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    answer_one_at_a_time(monkeypatch)
    mock = mock_aws()
    mock.start()
    ingest = Ingest(mock, capture)
    try:
        yield ingest
    finally:
        ingest.end()
