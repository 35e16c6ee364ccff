"""What a month costs on AWS: measured use of each part, times list prices."""

import json
import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.usage import Batch, Call, Night, batch_of, call_and_night
from infra import settings as limits
from infra.app import make_app, make_stack

COLUMNS = ("item", "a month", "price", "dollars")

ATTEMPTS: Final = int(os.environ.get("LEAP_BENCH_ATTEMPTS", "25000"))
RANKINGS: Final = int(os.environ.get("LEAP_BENCH_RANKINGS", str(ATTEMPTS)))
"""A day."""
DAYS: Final = 30
_POLLERS: Final = 5
"""Lambda polls a queue with so many at first; each waits 20 s, and fills a batch of its own."""
_POLLS: Final = _POLLERS * DAYS * 86_400 // 20
_PER_RECEIVE: Final = 10
_INSTANCES: Final = 5
"""Assumed of the rank function, kept warm by one ranking in 3.5 s; each looks for two objects."""
_PUT_S: Final = 0.05
"""Assumed for one write to S3, which no emulator can time."""
_NIGHT_S: Final = 1_800
"""Assumed of a night and the start of its task: fits have a most of steps, and a large fleet's
window is shorter (docs/nightly-run.md). `python -m bench month` measures a night."""
_CPU_OF_MB: Final = 1_769
"""Memory at which Lambda gives one processor."""
_PRICES: Final = json.loads(Path(__file__).with_name("list_prices.json").read_text())


def run() -> list[tuple[object, ...]]:
    """At `LEAP_BENCH_ATTEMPTS` attempts a day (25,000) and as many rankings, or those of
    `LEAP_BENCH_RANKINGS`; the longest kept data is stored in full."""
    batches = _POLLERS * 86_400 // limits.INGEST_WINDOW_S
    batch = batch_of(ceil(ATTEMPTS / batches))
    call, night = call_and_night()
    rows: list[tuple[object, ...]] = []
    total = 0.0
    for item, quantity, unit, price in (
        *_intake(batch, batches),
        *_nights(night, batch, batches),
        *_rankings(call),
        *_watching(batch, call, batches),
    ):
        dollars = quantity * _PRICES[price]
        total += dollars
        rows.append(
            (
                item,
                f"{quantity:,.{0 if quantity >= 100 else 2}f} {unit}",
                f"{_PRICES[price]:g}",
                f"{dollars:.2f}",
            )
        )
    return [*rows, ("together", "", "", f"{total:.2f}")]


Item = tuple[str, float, str, str]


def _intake(batch: Batch, batches: int) -> Iterator[Item]:
    events = ATTEMPTS * DAYS
    seconds = batch.cpu_s * _CPU_OF_MB / limits.INGEST_MEMORY_MB + batch.puts * _PUT_S
    yield "EventBridge: attempts", events, "events", "eventbridge_event"
    requests = events + _POLLS + 2 * ceil(events / _PER_RECEIVE)
    yield "SQS: sent, polled, received, deleted", requests, "requests", "sqs_request"
    used = batches * DAYS * seconds * limits.INGEST_MEMORY_MB / 1024
    yield "Lambda ingest: time", used, "GB-s", "lambda_gb_second"
    yield "Lambda ingest: calls", batches * DAYS, "calls", "lambda_request"
    yield "S3: attempts written", batches * DAYS * batch.puts, "objects", "s3_put"
    stored = ATTEMPTS * limits.RECORDS_DAYS * batch.stored / 1e9
    yield f"S3: {limits.RECORDS_DAYS} days of attempts kept", stored, "GB", "s3_gb_month"


def _nights(night: Night, batch: Batch, batches: int) -> Iterator[Item]:
    hours = DAYS * _NIGHT_S / 3600
    cpus, memory = (size / 1024 for size in limits.TASKS[limits.TASK])
    yield "Fargate: processors", hours * cpus, "vCPU-hours", "fargate_cpu_hour"
    yield "Fargate: memory", hours * memory, "GB-hours", "fargate_gb_hour"
    yield "Fargate: public address", hours, "hours", "public_ipv4_hour"
    # The window and the days whose attempts of theirs came late.
    read = DAYS * (DAYS + 1) * batches * batch.puts
    yield "S3: attempts read by the nights", read, "objects", "s3_get"
    kept = limits.SUPERSEDED_DAYS * night.artifact / 1e9
    yield f"S3: {limits.SUPERSEDED_DAYS} superseded models", kept, "GB", "s3_gb_month"


def _rankings(call: Call) -> Iterator[Item]:
    calls = RANKINGS * DAYS
    seconds = call.cpu_s * _CPU_OF_MB / min(limits.RANK_MEMORY_MB, _CPU_OF_MB)
    used = calls * seconds * limits.RANK_MEMORY_MB / 1024
    yield "Lambda rank: time", used, "GB-s", "lambda_gb_second"
    yield "Lambda rank: calls", calls, "calls", "lambda_request"
    looks = _INSTANCES * DAYS * 86_400 / limits.RANK_CACHE_S
    yield "S3: switches and pointer read by rank", 2 * looks, "objects", "s3_get"
    yield "Transfer out: answers", calls * call.answered / 1e9, "GB", "transfer_out_gb"
    recorded = calls * limits.RANK_SAMPLE
    each = ceil(call.recorded / 65_536)
    yield (
        f"EventBridge: {limits.RANK_SAMPLE:.0%} recorded",
        recorded * each,
        "events of 64 KB",
        ("eventbridge_event"),
    )


def _watching(batch: Batch, call: Call, batches: int) -> Iterator[Item]:
    yield "CloudWatch: metrics", len(_OWN_METRICS), "metrics", "cloudwatch_metric"
    yield "CloudWatch: alarms", _alarms(), "alarms", "cloudwatch_alarm"
    yield "CloudWatch: dashboard", 1, "page", "cloudwatch_dashboard"
    logged = DAYS * (RANKINGS * call.logged + batches * batch.logged) / 1e9
    yield "CloudWatch: logs", logged, "GB", "logs_gb"


def _alarms() -> int:
    """How many the stack has."""
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        app = make_app({"aws:cdk:bundling-stacks": []}, outdir=folder)
        stack = make_stack(app)
        app.synth()
        template = (Path(folder) / f"{stack.artifact_id}.template.json").read_text()
    resources = json.loads(template)["Resources"].values()
    return sum(r["Type"] == "AWS::CloudWatch::Alarm" for r in resources)


_OWN_METRICS: Final = (
    *("AttemptsStored", "AttemptsRejected", "AttemptsDuplicate", "RankingsStored"),
    *("IngestLagSeconds", "W20", "RunsPublished", "RunsPointed", "Rankings", "EmptyPreferences"),
    *("RankingErrors", "SwitchedOff", "ModelAgeHours", "ModelLoadFailures", "RecordsDropped"),
)
