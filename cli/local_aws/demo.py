"""The loop that `leap demo --aws` shows: this stack, deployed to an AWS on this machine."""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from cli.bus import Bus, Published
from cli.commands.publish import named_records
from cli.console import bar, err, out, spinner, step
from cli.example import newest_attempt, request_of, show_answer, told
from cli.local_aws.arrivals import Arrivals
from cli.local_aws.deploy import Deployment
from cli.local_aws.environment import acting_as, talking_to
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.roles import LauncherRole
from cli.local_aws.schedule import start_target
from cli.local_aws.server import LocalAws, local_aws
from cli.local_aws.signals import unwinding
from cli.local_aws.tasks import TaskRunner
from cli.simulation import Summary, simulate
from leap_model import RankClient
from leap_model.parameters import Parameters, deployed_pointer, pointer_parameter
from leap_model.s3 import S3Store
from leap_model.stored_catalogue import keep_catalogue
from leap_model.switches import write_switches

STAGE: Final = "demo"
TARGET: Final = "throughput"
_CLIENT_TIMEOUT_S: Final = 20.0
"""The demo waits longer than a launcher would: the function's first call loads the model."""
_AROUND: Final = 6
"""Columns that a spinner takes besides its words."""

T = TypeVar("T")


def run(folder: Path, *, days: int, per_day: int, seed: int) -> None:
    """Run the loop in an empty folder; logs and the fleet stay there, nothing else does.

    Raises
    ------
    LeapError
        A step failed. Whatever was started is ended all the same.
    """
    with unwinding(), ExitStack() as ending:
        aws = step(
            "1. start an AWS on this machine",
            lambda: ending.enter_context(local_aws(folder / "aws.log")),
        )
        out.print(f"   {aws.endpoint}, state in memory; it enforces what roles may do")
        stack = Deployment(aws, STAGE, folder)
        ending.enter_context(talking_to(aws))
        outputs = _deploy(stack)
        fleet = _simulate(folder / "fleet", days, per_day, seed)
        store = S3Store(outputs["BucketName"])
        launcher = LauncherRole("launcher", outputs["LauncherPolicy"])
        _publish(fleet, outputs["BusName"], launcher.credentials)
        _arrive(fleet, store)
        _open(fleet, store)
        _retrain(outputs["Schedule"], store, aws, folder)
        _ask(fleet, aws.reached(outputs["RankUrl"]), launcher.credentials)
        launcher.remove()
        _watched("9. cdk destroy", stack.destroy)
    out.print("   everything is gone")


def _deploy(stack: Deployment) -> Mapping[str, str]:
    _watched("2. cdk synth: the template, and a bundle of each function", stack.synthesise)
    _watched("   cdk bootstrap", stack.bootstrap)
    outputs = _watched("   cdk deploy", stack.deploy)
    for name, value in sorted(outputs.items()):
        out.print(f"   {name:<16} {value}")
    return outputs


def _watched(title: str, action: Callable[[Callable[[str], None]], T]) -> T:
    """A step that tells what it is at."""
    room = max(err.width - len(title) - _AROUND, 0)

    def act() -> T:
        with spinner(title.strip()) as show:
            return action(lambda line: show(_said(line)[:room]))

    return step(title, act)


def _said(line: str) -> str:
    """What a line says; the nightly run says it as JSON."""
    try:
        return str(json.loads(line)["stage"])
    except (ValueError, TypeError, LookupError):
        return line.strip()


def _simulate(folder: Path, days: int, per_day: int, seed: int) -> Summary:
    start = datetime.now(UTC).date() - timedelta(days=days)
    return step(
        f"3. simulate {days} days of a fleet, {per_day:,} attempts a day",
        lambda: simulate(folder, days=days, per_day=per_day, seed=seed, start=start),
    )


def _publish(fleet: Summary, bus: str, launcher: Mapping[str, str]) -> None:
    import boto3

    published = Published()
    with acting_as(launcher):
        events = boto3.Session().client("events")

    def publish() -> None:
        with bar("publishing", fleet.attempts) as advance:
            Bus(bus, events).publish(named_records(tuple(fleet.files)), published, advance)

    step(f"4. as a launcher, PutEvents on the bus {bus}", publish)
    if published.failures:
        raise LocalAwsError(f"{len(published.failures):,} not sent: {published.failures[0]}")
    out.print(f"   sent {published.sent:,} of {published.read:,}, ten events a call")


def _arrive(fleet: Summary, store: S3Store) -> None:
    arrived = Arrivals(store)

    def arrive() -> None:
        with bar("arriving", fleet.attempts) as advance:
            arrived.wait(fleet.attempts, advance)

    step("5. rule, queue, ingest function, Parquet", arrive)
    out.print(
        f"   {arrived.total:,} attempts in {len(arrived.rows):,} objects of {arrived.days} days, "
        f"such as\n   {store}/{next(iter(arrived.rows))}"
    )


def _open(fleet: Summary, store: S3Store) -> None:
    def act() -> None:
        keep_catalogue(store, fleet.catalogue.read_bytes(), fleet.catalogue.name)
        write_switches(store, STAGE, 100.0, {}, ())

    step("6. put the catalogue there, switch every family on", act)
    out.print(f"   leap switches set --store {store} --stage {STAGE} --default 100")


def _retrain(schedule: str, store: S3Store, aws: LocalAws, folder: Path) -> None:
    parameters, name = Parameters(), pointer_parameter(STAGE, TARGET)
    before = "set" if deployed_pointer(parameters, STAGE, TARGET) else "not set"

    def retrain(watch: Callable[[str], None]) -> None:
        TaskRunner(aws, start_target(schedule), folder).run_next(watch)

    _watched(f"7. what the schedule {schedule} starts: the nightly run", retrain)
    out.print("   its RunTask call was made for it: the local AWS fires no schedule of tasks")
    pointer = deployed_pointer(parameters, STAGE, TARGET)
    if pointer is None:
        raise LocalAwsError("the nightly run ended well, and points at nothing")
    out.print(
        told(json.loads(store.read(f"reports/{TARGET}/{pointer.version}/metrics.json") or ""))
    )
    out.print(f"   the parameter {name}, {before} before, names {pointer.version}")


def _ask(fleet: Summary, url: str, launcher: Mapping[str, str]) -> None:
    attempt = newest_attempt(fleet.files[-1])
    request = request_of(attempt, fleet.catalogue)

    def ask() -> Mapping[str, Any]:
        with acting_as(launcher):
            return RankClient(url, timeout_s=_CLIENT_TIMEOUT_S, sign=True).rank(request)

    answer = step("8. as a launcher, POST a job, signed, to the function URL", ask)
    out.print(f"   {url}")
    show_answer(answer, request, attempt, fleet.truth)
