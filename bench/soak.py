"""Ten minutes of events and rankings together, on the stack deployed to an AWS on this machine."""

import io
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import boto3
import numpy as np
import pyarrow.parquet as pq

from cli.bus import Bus, Published
from cli.commands.publish import named_records
from cli.example import newest_attempt, request_of
from cli.local_aws.arrivals import Arrivals
from cli.local_aws.deploy import Deployment
from cli.local_aws.environment import acting_as, talking_to
from cli.local_aws.roles import LauncherRole
from cli.local_aws.schedule import start_target
from cli.local_aws.server import LocalAws, local_aws
from cli.local_aws.tasks import TaskRunner
from cli.simulation import Summary, simulate
from leap_model import RankClient
from leap_model.s3 import S3Store
from leap_model.stored_catalogue import keep_catalogue
from leap_model.switches import write_switches

COLUMNS = ("figure", "value")

SOAK_S: Final = float(os.environ.get("LEAP_SOAK_S", "600"))
STAGE: Final = "soak"
_EVENTS_A_SECOND: Final = 20
_RANKERS: Final = 2
_RANK_EVERY_S: Final = 0.25
_LOOK_S: Final = 5.0
_PATIENCE_S: Final = 10.0
_WORKER: Final = re.compile(rf"ministack-lambda-leap-{STAGE}-(ingest|rank)-")
_PAGE_MB: Final = os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass
class Seen:
    """What rankings gave, and what the functions' processes had at each look."""

    milliseconds: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    memory_mb: dict[str, list[float]] = field(default_factory=dict)
    handles: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def run() -> list[tuple[object, ...]]:
    """Publish and rank for `LEAP_SOAK_S` seconds (600), then count what is in the store."""
    with TemporaryDirectory(prefix="leap-soak-") as folder, _stage(Path(folder)) as stage:
        aws, outputs, launcher = stage
        store = S3Store(outputs["BucketName"], cache=Path(folder) / "cache")
        fleet = _trained(Path(folder), aws, outputs, launcher, store)
        before = len(_stored(store))
        seen, published = _soak(Path(folder), aws, outputs, launcher, fleet)
        Arrivals(store).wait(before + published.sent)
        rows = _stored(store)
        switched = _answered(seen)
    return [
        ("seconds", f"{SOAK_S:,.0f}"),
        ("attempts sent / refused by the bus", f"{published.sent:,} / {len(published.failures)}"),
        ("rows in the store / attempts after reading", f"{len(rows):,} / {len(set(rows)):,}"),
        ("lost", before + published.sent - len(set(rows))),
        ("rankings", f"{len(seen.milliseconds):,}"),
        ("with a preference / without", switched),
        ("milliseconds, median / p99", _two(np.percentile(seen.milliseconds, [50, 99]))),
        *_growth("memory, MB", seen.memory_mb),
        *_growth("open handles", seen.handles),
        ("faults", "; ".join(seen.faults) or "none"),
    ]


@contextmanager
def _stage(folder: Path) -> Iterator[tuple[LocalAws, Mapping[str, str], Mapping[str, str]]]:
    with local_aws(folder / "aws.log") as aws:
        stack = Deployment(aws, STAGE, folder)
        with talking_to(aws):
            boto3.setup_default_session()
            for act in (stack.synthesise, stack.bootstrap):
                act(lambda line: None)
            outputs = stack.deploy(lambda line: None)
            yield aws, outputs, LauncherRole("launcher", outputs["LauncherPolicy"]).credentials


def _trained(
    folder: Path,
    aws: LocalAws,
    outputs: Mapping[str, str],
    launcher: Mapping[str, str],
    store: S3Store,
) -> Summary:
    """The fleet that the stage's first night learned from."""
    start = datetime.now(UTC).date() - timedelta(days=10)
    fleet = simulate(folder / "fleet", days=10, per_day=300, seed=1, start=start)
    published = _publish(outputs, launcher, fleet.files)
    Arrivals(store).wait(published.sent)
    keep_catalogue(store, fleet.catalogue.read_bytes(), fleet.catalogue.name)
    write_switches(store, STAGE, 100.0, {}, ())
    TaskRunner(aws, start_target(outputs["Schedule"]), folder).run_next(lambda line: None)
    return fleet


def _publish(
    outputs: Mapping[str, str],
    launcher: Mapping[str, str],
    files: list[Path],
    advance: Callable[[int], None] = lambda steps: None,
) -> Published:
    published = Published()
    with acting_as(launcher):
        events = boto3.Session().client("events")
    Bus(outputs["BusName"], events).publish(named_records(tuple(files)), published, advance)
    return published


def _soak(
    folder: Path,
    aws: LocalAws,
    outputs: Mapping[str, str],
    launcher: Mapping[str, str],
    fleet: Summary,
) -> tuple[Seen, Published]:
    seen, over = Seen(), threading.Event()
    request = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
    with acting_as(launcher):
        clients = [
            RankClient(aws.reached(outputs["RankUrl"]), timeout_s=_PATIENCE_S, sign=True)
            for _ in range(_RANKERS)
        ]
        for client in clients:
            client.rank(request)  # finds its credentials, which are the launcher's only now
    threads = [
        threading.Thread(target=_noting, args=(seen, _rank_on, seen, client, request, over))
        for client in clients
    ]
    threads.append(threading.Thread(target=_noting, args=(seen, _look_on, seen, over)))
    for thread in threads:
        thread.start()
    try:
        published = _publish_on(folder, outputs, launcher)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return seen, published


def _publish_on(folder: Path, outputs: Mapping[str, str], launcher: Mapping[str, str]) -> Published:
    """Attempts of one day at an even pace until the time is over."""
    count = int(SOAK_S * _EVENTS_A_SECOND)
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    fleet = simulate(folder / "soak", days=1, per_day=count, seed=2, start=yesterday)
    began, sent = time.monotonic(), 0

    def pace(steps: int) -> None:
        nonlocal sent
        sent += steps
        time.sleep(max(began + sent / _EVENTS_A_SECOND - time.monotonic(), 0))

    return _publish(outputs, launcher, fleet.files, pace)


def _rank_on(
    seen: Seen, client: RankClient, request: dict[str, Any], over: threading.Event
) -> None:
    while not over.wait(_RANK_EVERY_S):
        started = time.monotonic()
        answer = client.rank(request)
        seen.milliseconds.append((time.monotonic() - started) * 1e3)
        seen.reasons["" if answer["preference"] else str(answer["reason"])] += 1


def _look_on(seen: Seen, over: threading.Event) -> None:
    """Resident memory and open files of each process that runs a function."""
    while not over.wait(_LOOK_S):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                found = _WORKER.search((process / "cmdline").read_text())
                if found is None:
                    continue
                pages = int((process / "statm").read_text().split()[1])
                name = f"{found[1]} {process.name}"
                seen.memory_mb.setdefault(name, []).append(pages * _PAGE_MB)
                seen.handles.setdefault(name, []).append(len(list((process / "fd").iterdir())))
            except OSError:  # it ended meanwhile
                continue


def _noting(seen: Seen, what: Callable[..., None], *arguments: Any) -> None:
    try:
        what(*arguments)
    except Exception as fault:
        seen.faults.append(f"{type(fault).__name__}: {fault}")


def _stored(store: S3Store) -> list[str]:
    """The attempt id of every row in the store."""
    ids: list[str] = []
    for key in store.keys("attempts"):
        content = io.BytesIO(store.read(key) or b"")
        ids += pq.read_table(content, columns=["attempt_id"])["attempt_id"].to_pylist()
    return ids


def _answered(seen: Seen) -> str:
    without = {reason: count for reason, count in seen.reasons.items() if reason}
    return f"{seen.reasons['']:,} / {json.dumps(without) if without else 0}"


def _growth(what: str, looks: Mapping[str, list[float]]) -> Iterator[tuple[object, ...]]:
    """The median of each process in the first and the last third of its looks."""
    for name, values in sorted(looks.items()):
        third = max(len(values) // 3, 1)
        first, last = np.median(values[:third]), np.median(values[-third:])
        yield f"{what}: {name}, first / last third", _two((first, last))


def _two(values: Any) -> str:
    first, last = values
    return f"{first:,.1f} / {last:,.1f}"
