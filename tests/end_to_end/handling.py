"""A deployed stage as its tests handle it: told otherwise for a while, asked, and left clean."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import boto3

from cli.local_aws.environment import acting_as
from leap_model.artifact import Packed, load, pack, publish
from leap_model.pointer import Pointer
from leap_model.posting import post
from leap_model.signing import Signer
from leap_model.store import Store
from leap_model.times import format_time, now_us
from tests.end_to_end.conftest import Stage
from tests.support import checked

ASKED_S = 20.0
"""More than the function itself may take."""


@contextmanager
def told(function: str, **variables: str) -> Iterator[None]:
    """While the block runs a function has these variables too, and starts anew for them."""
    lambda_ = boto3.client("lambda")
    before = lambda_.get_function_configuration(FunctionName=function)["Environment"]["Variables"]

    def tell(all_of_them: Mapping[str, str]) -> None:
        lambda_.update_function_configuration(
            FunctionName=function, Environment={"Variables": dict(all_of_them)}
        )

    tell({**before, **variables})
    try:
        yield
    finally:
        tell(before)


@contextmanager
def kept_clean(bucket: str, *prefixes: str) -> Iterator[None]:
    """When the block has run, objects below the prefixes that were not there before are gone."""
    s3 = boto3.client("s3")

    def keys() -> set[str]:
        pages = s3.get_paginator("list_objects_v2")
        return {
            entry["Key"]
            for prefix in prefixes
            for page in pages.paginate(Bucket=bucket, Prefix=prefix)
            for entry in page.get("Contents", ())
        }

    before = keys()
    try:
        yield
    finally:
        left = [{"Key": key} for key in keys() - before]
        for at in range(0, len(left), 1_000):
            s3.delete_objects(Bucket=bucket, Delete={"Objects": left[at : at + 1_000]})


def next_version(store: Store, pointer: Pointer) -> tuple[Pointer, Packed]:
    """The model that a pointer names, published under another version; nothing points at it."""
    artifact = load(store.folder(pointer.uri), pointer.manifest_sha256)
    packed = pack(replace(artifact, training={**artifact.training, "made_at": now_us()}))
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    now = format_time(now_us())
    return Pointer(packed.version, uri, packed.manifest_sha256, pointer.as_of, now), packed


class Asking:
    """Asks a stage's function as its launcher, and looks at more than the answer."""

    def __init__(self, stage: Stage) -> None:
        self._url = stage.url
        self._signer = Signer(stage.url)
        with acting_as(stage.launcher.credentials):
            self._signer.headers(b"", ASKED_S)  # finds the credentials, which are then kept

    def __call__(self, document: dict[str, Any]) -> "Reply":
        """What comes back for a request."""
        body = json.dumps(document).encode()
        headers = self._signer.headers(body, ASKED_S)
        started = time.monotonic()
        status, content = post(self._url, body, ASKED_S, headers)
        seconds = time.monotonic() - started
        assert status == 200, content
        return Reply(checked(json.loads(content)), seconds)


@dataclass(frozen=True)
class Reply:
    """An answer, and the seconds that it took."""

    answer: dict[str, Any]
    seconds: float

    @property
    def version(self) -> Any:
        """The version that answered."""
        return self.answer["model_version"]


def metric_lines(function: str, since: float) -> list[dict[str, Any]]:
    """What a function printed in the embedded metric format from a moment (Unix time, s) on."""
    configuration = boto3.client("lambda").get_function_configuration(FunctionName=function)
    pages = boto3.client("logs").get_paginator("filter_log_events")
    group = configuration["LoggingConfig"]["LogGroup"]
    found = []
    for page in pages.paginate(logGroupName=group, startTime=int(since * 1000)):
        for event in page["events"]:
            for line in event["message"].splitlines():
                with suppress(ValueError):
                    document = json.loads(line)
                    if isinstance(document, dict) and "_aws" in document:
                        found.append(document)
    return found


def counted(function: str, metric: str, since: float) -> float:
    """The sum of a metric that a function printed since."""
    return sum(
        sum(value) if isinstance(value := line[metric], list) else float(value)
        for line in metric_lines(function, since)
        if metric in line
    )


def until(condition: Callable[[], bool], longest_s: float, every_s: float = 0.2) -> bool:
    """Whether it comes true in time; what asks a function must not ask without a pause."""
    deadline = time.monotonic() + longest_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(every_s)
    return condition()


def waiting(queue: str) -> int:
    """Messages that a queue holds, those among them that a function is at work on."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = boto3.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)
    return sum(int(value) for value in answer["Attributes"].values())
