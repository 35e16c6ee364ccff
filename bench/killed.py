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


def run() -> list[tuple[object, ...]]:
    """Raises unless both end with the same digest, and the pointer never was at a half version."""
    draw = np.random.default_rng(1)
    with simulated(DAYS, PER_DAY) as (_, store):
        beside = LocalStore(copytree(store.root, store.root.with_name("undisturbed")))
        started = time.perf_counter()
        expected = _finished(_begun(beside.root))
        whole = time.perf_counter() - started
        ended, fits = list[float](), list[int]()
        for after in draw.uniform(0.1, 0.9, KILLS) * whole:
            night = _begun(store.root)
            ended.append(after)
            time.sleep(after)
            os.killpg(night.pid, signal.SIGKILL)
            night.wait()
            fits.append(len(store.keys("scratch")))
            _no_half_version(store)
            if read_pointer(store, "local", "throughput")[0] is not None:
                break
        started = time.perf_counter()
        metrics = _finished(_begun(store.root))
        last = time.perf_counter() - started
    if metrics["manifest_sha256"] != expected["manifest_sha256"]:
        raise AssertionError("the digest is another")
    return [
        ("rows", f"{metrics['rows']:,}"),
        ("undisturbed, seconds", f"{whole:.0f}"),
        ("killed after, seconds", ", ".join(f"{seconds:.0f}" for seconds in ended)),
        ("fits kept after each", ", ".join(map(str, fits))),
        ("the run after the last, seconds", f"{last:.0f}"),
        ("same digest", "yes"),
    ]


def _begun(root: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "cli.main", "retrain", "--store", str(root), "--json"]
    command += ["--as-of", NIGHT.isoformat()]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _finished(night: "subprocess.Popen[str]") -> dict[str, Any]:
    said, _ = night.communicate()
    if night.returncode != 0:
        raise AssertionError(f"a night ended with exit code {night.returncode}")
    metrics: dict[str, Any] = json.loads(said)
    return metrics


def _no_half_version(store: LocalStore) -> None:
    pointer, _ = read_pointer(store, "local", "throughput")
    if pointer is not None and store.size(f"{pointer.uri}/{MANIFEST}") is None:
        raise AssertionError("the pointer is at a half version")
