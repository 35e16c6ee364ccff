"""The guard that every test runs under finds what reaches out, and nothing else."""

import socket
from collections.abc import Callable

import boto3
import pytest
from botocore.config import Config

from tests.network import no_other_machine


def reach_by_address() -> None:
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("192.0.2.1", 443))


def reach_by_name() -> None:
    with pytest.raises(socket.gaierror):
        socket.create_connection(("s3.eu-west-1.amazonaws.com", 443), 1)


def reach_with_aws_s_client() -> None:
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=1)
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    s3 = boto3.client("s3", region_name="eu-west-1", config=config, **keys)
    with pytest.raises(Exception, match="Could not connect"):
        s3.list_buckets()


@pytest.mark.parametrize("reach", [reach_by_address, reach_by_name, reach_with_aws_s_client])
def test_whatever_asks_another_machine_fails_though_it_is_caught(
    reach: Callable[[], None],
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(AssertionError, match="reached for"),
        no_other_machine(patch),
    ):
        reach()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_reached(host: str) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        no_other_machine(patch),
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1]), 5) as reached,
    ):
        assert reached.getpeername() == server.getsockname()
