"""Small fleets for tests: few rows, quick to train on, with an order that is known."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from functions.retrain.learning.single import Single
from functions.retrain.settings import Settings
from leap_model.attempt import parse_attempt
from leap_model.intake import Counts, Record, take_in
from leap_model.store import LocalStore, Store
from leap_model.table import table_of
from leap_model.times import parse_time

NOW = parse_time("2026-03-01T00:00:00Z")
START = datetime(2026, 1, 1, tzinfo=UTC)

CATALOGUE: dict[str, Any] = {
    "hardware_types": [
        {
            "hardware_type": "fast-8",
            "vendor": "acme",
            "peak_fp16_tflops": 900.0,
            "memory_gb": 80.0,
            "accelerators_per_host": 8,
            "cost_per_hour": 40.0,
            "aliases": ["ml.fast-8", "FAST"],
        },
        {
            "hardware_type": "mid-8",
            "vendor": "acme",
            "peak_fp16_tflops": 300.0,
            "memory_gb": 40.0,
            "accelerators_per_host": 8,
            "cost_per_accelerator_hour": 2.5,
        },
        {
            "hardware_type": "slow-4",
            "vendor": "bolt",
            "peak_fp16_tflops": 60.0,
            "memory_gb": 16.0,
            "accelerators_per_host": 4,
            "cost_per_hour": 4.0,
        },
        {"hardware_type": "unpriced-8", "vendor": "bolt", "peak_fp16_tflops": 200.0},
    ]
}
RATES = {"fast-8": 900.0, "mid-8": 300.0, "slow-4": 60.0}
"""Samples per second of one host on the lightest model."""

QUICK = Settings(estimator=Single(trees=40, leaves=15, learning_rate=0.2))


def attempt(**values: Any) -> dict[str, Any]:
    """A valid attempt, as a launcher sends it."""
    return {
        "attempt_id": "a-0001",
        "job_name": "resnet50-20260102-080000",
        "model_type": "resnet",
        "hardware_type": "fast-8",
        "num_trainers": 8,
        "batch_size": 64,
        "throughput": 1234.5,
        "completed_at": "2026-01-02T08:59:00Z",
        **values,
    }


def fleet(count: int, days: int = 10, seed: int = 0, **values: Any) -> list[dict[str, Any]]:
    """`count` attempts spread over `days` from 2026-01-01, on three types, with 2 % noise.

    `values` replace fields in every attempt.
    """
    draw = random.Random(seed)
    step = timedelta(days=days) / max(count, 1)
    attempts = []
    for at in range(count):
        model = draw.choice(("resnet", "bert", "ctr"))
        hardware = draw.choice(tuple(RATES))
        trainers = draw.choice((1, 2, 4))
        weight = {"resnet": 1.0, "bert": 10.0, "ctr": 0.1}[model]
        noise = draw.lognormvariate(0.0, 0.02)
        completed = START + step * at
        attempts.append(
            attempt(
                attempt_id=f"a-{at:05}",
                job_name=f"team/{model}-{draw.randrange(20)}x-{completed:%Y%m%d-%H%M%S}",
                model_type=model,
                hardware_type=hardware,
                num_trainers=trainers,
                batch_size=draw.choice((32, 64, 128)),
                throughput=RATES[hardware] * trainers / weight * noise,
                launched_at=(completed - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                completed_at=completed.strftime("%Y-%m-%dT%H:%M:%SZ"),
                duration_s=7200,
                config={"precision": "bf16", "data_readers": 8, "lr": draw.random()},
                architecture={"params_m": 25.0 * weight, "gmacs": 4.0 * weight},
            )
            | values
        )
    return attempts


def filled(root: Path, attempts: list[dict[str, Any]]) -> LocalStore:
    """A store with a catalogue and some attempts."""
    store = LocalStore(root)
    store.create("catalogue/hardware.json", json.dumps(CATALOGUE).encode())
    records = [Record.of_json(json.dumps(entry).encode()) for entry in attempts]
    take_in(store, records, Counts(), NOW)
    return store


def append_each(store: Store, *attempts: dict[str, Any]) -> None:
    """Each attempt as a file of its own, as a queue delivers them in a quiet hour."""
    for entry in attempts:
        records = [Record.of_json(json.dumps(entry).encode())]
        take_in(store, records, Counts(), NOW, look_up=False)


def request(**values: Any) -> dict[str, Any]:
    """A ranking request for a job that the small fleet knows."""
    return {
        "job": {
            "job_name": "team/bert-3x-20260112-101112",
            "model_type": "bert",
            "num_trainers": 2,
            "batch_size": 64,
            "config": {"precision": "bf16", "data_readers": 8, "lr": 0.5},
            "architecture": {"params_m": 250.0, "gmacs": 40.0},
        },
        "candidates": ["fast-8", "mid-8", "slow-4"],
        "launched_at": "2026-01-12T10:11:12Z",
        **values,
    }


ANSWER_KEYS = {"preference", "excluded", "ranking_id", "model_version", "models", "reason"}
ENTRY_KEYS = {"id", "hardware_type", "throughput", "cost_per_hour", "samples_per_dollar"}
REASONS = {
    *("no_candidates", "invalid_request", "missing_feature", "model_unavailable"),
    *("switched_off", "all_excluded", "internal_error"),
}
EXCLUSIONS = {
    *("unknown_hardware", "untrained_hardware", "no_cost", "invalid_candidate"),
    *("premium_underused", "duplicate"),
}


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, once it is known to keep the contract: every key, plain and strict JSON."""
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert answer.keys() >= ANSWER_KEYS
    assert isinstance(answer["ranking_id"], str)
    assert answer["ranking_id"]
    assert isinstance(answer["models"], dict)
    assert answer["model_version"] == answer["models"].get("throughput")
    assert all(isinstance(entry, dict) for entry in answer["preference"] + answer["excluded"])
    if answer["preference"]:
        assert answer["reason"] is None
    else:
        assert answer["reason"] in REASONS
    if answer["reason"] == "invalid_request":
        assert answer["detail"]
    keys = []
    for entry in answer["preference"]:
        assert entry.keys() >= ENTRY_KEYS
        assert entry["throughput"] > 0
        assert entry["cost_per_hour"] > 0
        keys.append((-entry["samples_per_dollar"], entry["id"]))
    assert keys == sorted(keys)
    for entry in answer["excluded"]:
        assert entry.keys() >= {"id", "hardware_type", "reason"}
        assert entry["reason"] in EXCLUSIONS
    return answer


def excluded(answer: dict[str, Any]) -> list[tuple[str | None, str]]:
    """(id, reason) of each excluded candidate."""
    return [(entry["id"], entry["reason"]) for entry in answer["excluded"]]


def preferred(answer: dict[str, Any]) -> list[str]:
    """Ids, best first."""
    return [entry["id"] for entry in answer["preference"]]


def stored_table(attempts: list[dict[str, Any]]) -> pa.Table:
    """Valid attempts as the table that a store holds."""
    return table_of([parse_attempt(entry, NOW) for entry in attempts], NOW)


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the content of a Parquet object."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
