"""moto in the place of AWS, and a deployed stage's night made quick."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber

from functions.retrain import deployed
from functions.retrain.settings import Settings
from leap_model.s3 import S3Store
from leap_model.store import LocalStore
from tests.support import QUICK


def answer_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moto answer one call after the other.

    S3 decides a conditional write in one step. moto looks and writes in two: of threads that write
    at once two may win, or one finds a buffer that the other closed.
    """
    turn = threading.RLock()
    answer = BotocoreStubber.process_request

    def process(self: BotocoreStubber, request: Any) -> Any:
        with turn:
            return answer(self, request)

    monkeypatch.setattr(BotocoreStubber, "process_request", process)


@contextmanager
def account(monkeypatch: pytest.MonkeyPatch, bucket: str, region: str) -> Iterator[None]:
    """An account with one empty bucket; nothing in it reaches a network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    answer_one_at_a_time(monkeypatch)
    with mock_aws():
        location: Any = {"LocationConstraint": region}
        boto3.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration=location)
        yield


def train_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deployed runs take their estimator by name; from now on they take a small one."""

    def settings(**values: Any) -> Settings:
        return replace(QUICK, **(values | {"estimator": QUICK.estimator, "challengers": ()}))

    monkeypatch.setattr(deployed, "Settings", settings)
    # Few rows or not: what is finished is kept, as of a large fleet.
    monkeypatch.setattr("functions.retrain.training.FEWEST_ROWS", 1)


def copied(local: LocalStore, store: S3Store) -> S3Store:
    """A bucket with the attempts and the catalogue of a folder."""
    for key in [*local.keys("attempts"), *local.keys("catalogue")]:
        store.create(key, local.read(key) or b"")
    return store
