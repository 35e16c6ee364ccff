"""A demo can reach the local AWS and no account."""

import os
import signal
import time
from pathlib import Path

import pytest
from botocore.session import Session

from cli.local_aws.environment import acting_as, talking_to, variables_for
from cli.local_aws.server import LocalAws
from cli.local_aws.signals import unwinding

AWS = LocalAws("https://127.0.0.1:40001", Path("/tmp/certificate.pem"), "secret")
MINE = {
    "AWS_PROFILE": "prod",
    "AWS_ACCESS_KEY_ID": "AKIAMINE",
    "AWS_SESSION_TOKEN": "mine",
    "AWS_AWS_URL_S3": "https://s3.example.com",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "https://mine.example.com",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/mine",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "LEAP_STORE": "s3://mine",
    "NO_PROXY": "intranet",
    "HTTPS_PROXY": "http://proxy.example.com:3128",
    "PATH": os.environ["PATH"],
}


@pytest.fixture(autouse=True)
def _mine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MINE.items():
        monkeypatch.setenv(name, value)


def test_nothing_that_names_an_account_is_passed_on() -> None:
    passed = variables_for(AWS)
    kept = {"NO_PROXY", "HTTPS_PROXY", "PATH", "AWS_ACCESS_KEY_ID"}
    assert set(MINE) & set(passed) == kept
    assert passed["AWS_ACCESS_KEY_ID"] == "000000000000"


def test_a_proxy_serves_the_internet_and_not_the_local_aws() -> None:
    passed = variables_for(AWS)
    assert passed["HTTPS_PROXY"] == MINE["HTTPS_PROXY"]
    assert passed["NO_PROXY"] == passed["no_proxy"] == "intranet,127.0.0.1,localhost"


def test_clients_of_this_process_talk_to_the_local_aws_while_the_block_runs() -> None:
    before = dict(os.environ)
    with talking_to(AWS):
        session = Session()
        credentials = session.get_credentials()
        assert credentials is not None
        assert credentials.access_key == "000000000000"
        client = session.create_client("s3")
        assert client.meta.endpoint_url == AWS.endpoint
        assert client.meta.region_name == "us-east-1"
    assert dict(os.environ) == before


def test_the_environment_comes_back_after_a_fault() -> None:
    before = dict(os.environ)
    with pytest.raises(KeyboardInterrupt), talking_to(AWS):
        raise KeyboardInterrupt
    assert dict(os.environ) == before


def test_what_builds_bundles_still_trusts_the_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/company.pem")
    assert variables_for(AWS)["SSL_CERT_FILE"] == "/company.pem"
    with talking_to(AWS):
        assert os.environ["SSL_CERT_FILE"] == str(AWS.certificate)


def test_clients_made_as_another_have_its_credentials() -> None:
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    with talking_to(AWS):
        with acting_as(dict(zip(keys, "abc", strict=True))):
            found = Session().get_credentials()
        assert found is not None
        assert (found.access_key, found.secret_key, found.token) == ("a", "b", "c")
        assert os.environ["AWS_ACCESS_KEY_ID"] == "000000000000"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_unwinds(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    unwound: list[int] = []
    with pytest.raises(SystemExit) as left:
        _told(number, unwound)
    assert left.value.code == 128 + number
    assert unwound == [number]
    assert signal.getsignal(number) is before


def _told(number: int, unwound: list[int]) -> None:
    with unwinding():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5.0)
        finally:
            unwound.append(number)
