"""A stage on the local AWS for benchmarks of the rank function: what it reads, and its bundle."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import boto3

from bench.fleets import BY, START, simulated
from cli.example import newest_attempt, request_of
from cli.local_aws.environment import aws_variables, talking_to
from cli.local_aws.server import local_aws
from functions.retrain.nightly import retrain
from infra.bundle import Bundle, build
from infra.machine import this_machine
from leap_model.parameters import Parameters, pointer_parameter
from leap_model.pointer import pointer_key
from leap_model.s3 import S3Store
from leap_model.store import LocalStore
from leap_model.switches import write_switches

STAGE: Final = "bench"
BUCKET: Final = "leap-bench"
BUS: Final = "leap-bench"
CHECKOUT: Final = Path(__file__).parents[1]
_CALLED: Final = CHECKOUT / "tests" / "events" / "function_url_rank.json"
"""How Lambda calls the function, as captured."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a function and its callers need.

    `environment` is the function's, as the stack gives it; `event` is a ranking of 20 candidates as
    the function URL hands it on, `request` the same for a ranker over `store`, in `folder`.
    """

    bundle: Path
    environment: Mapping[str, str]
    event: Mapping[str, Any]
    request: Mapping[str, Any]
    store: LocalStore
    folder: Path


@contextmanager
def deployed(estimator: str) -> Iterator[Stage]:
    """A model of a simulated fleet on the local AWS, and the rank function's bundle."""
    with (
        TemporaryDirectory(prefix="leap-bench-") as name,
        simulated(14, 1_000) as (fleet, store),
    ):
        folder = Path(name)
        retrain(store, "local", START + timedelta(days=14), BY[estimator])
        request = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
        request["candidates"] = request["candidates"][:20]
        bundle = folder / "bundle"
        bundle.mkdir()
        build(Bundle.RANK, this_machine(), bundle)
        with local_aws(folder / "aws.log") as aws:
            with talking_to(aws):
                boto3.setup_default_session()
                _publish(store)
            variables = aws_variables(aws) | {
                "LEAP_STORE": f"s3://{BUCKET}",
                "LEAP_STAGE": STAGE,
                "LEAP_CACHE_S": "60",
                "LEAP_BUS": BUS,
                "LEAP_SAMPLE": "0.05",
                "POWERTOOLS_METRICS_NAMESPACE": "LEAP",
                "POWERTOOLS_SERVICE_NAME": "rank",
            }
            event = {**json.loads(_CALLED.read_text()), "body": json.dumps(request)}
            yield Stage(bundle, variables, event, request, store, folder)


def _publish(store: LocalStore) -> None:
    """Copy the model there; the parameter says what the store's own pointer says."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    boto3.client("events").create_event_bus(Name=BUS)
    there = S3Store(BUCKET)
    for key in store.keys("models"):
        there.create(key, store.read(key) or b"")
    pointer = (store.read(pointer_key("local", "throughput")) or b"").decode()
    Parameters().write(pointer_parameter(STAGE, "throughput"), pointer)
    write_switches(there, STAGE, 100.0, {}, ())
