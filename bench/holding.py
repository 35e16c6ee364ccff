"""What an artifact takes: on disk, to load, and in memory after 1,000 rankings."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bench.cascades import SIZES, Size, estimators
from bench.fleets import BY, START, simulated
from cli.example import newest_attempt, request_of
from functions.retrain.learning.export import export_forest
from functions.retrain.nightly import retrain
from leap_model.artifact import load, pack, publish
from leap_model.model import Model
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.store import LocalStore
from leap_model.times import format_time, now_us

COLUMNS = ("by", "artifact MB", "first load ms", "warm load ms", "resident MB", "− artifact")
"""Loads in milliseconds of processor time, with the artifact in the system's cache."""


def run() -> list[tuple[object, ...]]:
    """What nights try, and cascades of two sizes: each in a process of its own, that loads it and
    ranks 20 candidates again and again."""
    with simulated(14, 1_000) as (fleet, store):
        request = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
        request["candidates"] = request["candidates"][:20]
        rows = []
        for name, settings in BY.items():
            retrain(store, "local", START + timedelta(days=14), settings)
            rows.append(_row(name, _current(store), store, request))
        for size in SIZES:
            published(size, store)
            rows.append(_row(f"{size.name} cascade", _current(store), store, request))
        return rows


def _row(
    name: str, current: Pointer, store: LocalStore, request: Mapping[str, Any]
) -> tuple[object, ...]:
    parts = (str(store.root), current.uri, current.manifest_sha256)
    command = [sys.executable, "-m", "bench.loaded", *parts]
    done = subprocess.run(
        command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True
    )
    said = json.loads(done.stdout)
    megabytes = sum(len(store.read(key) or b"") for key in store.keys(current.uri)) / 1e6
    figures = (said["first"], said["warm"], said["resident"], said["resident"] - megabytes)
    return name, f"{megabytes:.1f}", *(f"{figure:.1f}" for figure in figures)


def _current(store: LocalStore) -> Pointer:
    pointer, _ = read_pointer(store, "local", "throughput")
    if pointer is None:
        raise RuntimeError("the store has no model")
    return pointer


def published(size: Size, store: LocalStore) -> None:
    """Make the cascade the store's model."""
    pointer, tag = read_pointer(store, "local", "throughput")
    if pointer is None:
        raise RuntimeError("the store has no model")
    fitted = estimators(size)
    experts = {f"expert-{at:02}": export_forest(one) for at, one in enumerate(fitted.experts)}
    model = Model.of_cascade(export_forest(fitted.picker), experts)
    one = load(store.folder(pointer.uri), pointer.manifest_sha256)
    packed = pack(dataclasses.replace(one, model=model, schema=fitted.schema))
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    now = format_time(now_us())
    moved = Pointer(packed.version, uri, packed.manifest_sha256, pointer.as_of, now)
    write_pointer(store, "local", "throughput", moved, tag)
