"""Killed nights: 50,000 rows, ended at ten moments drawn at random and begun anew, every time."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np

from bench.fleets import START, simulated
from leap_model.pointer import read_pointer
from leap_model.sealed import MANIFEST
from leap_model.store import LocalStore

COLUMNS = ("figure", "value")
DAYS, PER_DAY, KILLS = 21, 2_500, 10
NIGHT = START + timedelta(days=DAYS)
_QUICK = ("--set", "epochs=4", "--processes", "1")
"""A tenth of the steps, so that ten nights take minutes; by one process, which makes one fit at a
time, and so loses at most one."""


def run() -> list[tuple[object, ...]]:
    """Raises unless every night ends with the same digest, no kept fit is made twice, and the
    pointer never was at a half version. A night that ends before it is killed gives way to
    another."""
    draw = np.random.default_rng(1)
    with simulated(DAYS, PER_DAY) as (_, store):
        started = time.perf_counter()
        expected = _whole(_copy(store, "undisturbed"))
        whole = time.perf_counter() - started
        ended, kept = list[float](), list[int]()
        nights, digests = 1, set[str]()
        one, fits = _copy(store, "0"), dict[str, int]()
        while len(ended) < KILLS:
            after = float(draw.uniform(0.02, 0.98)) * whole
            night = _begun(one.root)
            metrics = _finished(night, after)
            if metrics is None:
                ended.append(after)
                fits = _still_kept(one, fits)
                kept.append(len(fits))
                _no_half_version(one)
            else:
                digests.add(metrics["manifest_sha256"])
                one, fits = _copy(store, str(nights)), {}
                nights += 1
        last = _whole(one)
        digests.add(last["manifest_sha256"])
    if digests != {expected["manifest_sha256"]}:
        raise AssertionError("the digest is another")
    return [
        ("rows", f"{last['rows']:,}"),
        ("undisturbed, seconds", f"{whole:.0f}"),
        ("killed after, seconds", ", ".join(f"{seconds:.0f}" for seconds in ended)),
        ("fits kept after each", ", ".join(map(str, kept))),
        ("nights that these were, all of the same digest", f"{nights}"),
    ]


def _copy(store: LocalStore, name: str) -> LocalStore:
    return LocalStore(copytree(store.root, store.root.with_name(name)))


def _whole(store: LocalStore) -> dict[str, Any]:
    metrics = _finished(_begun(store.root))
    if metrics is None:
        raise AssertionError("a night without an end")
    return metrics


def _begun(root: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "cli.main", "retrain", "--store", str(root), "--json"]
    return subprocess.Popen(
        [*command, "--as-of", NIGHT.isoformat(), *_QUICK],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _finished(night: "subprocess.Popen[str]", after: float | None = None) -> dict[str, Any] | None:
    """A night's metrics; None where it was still at work after so many seconds, and was killed."""
    try:
        said, _ = night.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(night.pid, signal.SIGKILL)
        night.communicate()
        return None
    if night.returncode != 0:
        raise AssertionError(f"a night ended with exit code {night.returncode}")
    metrics: dict[str, Any] = json.loads(said)
    return metrics


def _still_kept(store: LocalStore, before: dict[str, int]) -> dict[str, int]:
    """When each finished fit was written, by its key: those of before are as they were."""
    now = {key: (store.root / key).stat().st_mtime_ns for key in store.keys("scratch")}
    if now.items() >= before.items():
        return now
    if read_pointer(store, "local", "throughput")[0] is not None:  # the night was all but done
        return now
    raise AssertionError("a fit that was kept is gone, or was made again")


def _no_half_version(store: LocalStore) -> None:
    pointer, _ = read_pointer(store, "local", "throughput")
    if pointer is not None and store.size(f"{pointer.uri}/{MANIFEST}") is None:
        raise AssertionError("the pointer is at a half version")
