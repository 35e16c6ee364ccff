"""History of 250,000 families, and cells of what resembles a job: bytes, load, 20 look-ups."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np

from bench.fleets import START, simulated
from bench.timing import processor_milliseconds
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model.artifact import Artifact, load, pack, publish
from leap_model.columns import Ints
from leap_model.history import Hashes, Outcomes, snapshot_as_of
from leap_model.limits import DAY_US, MOST_FAMILIES, MOST_FAMILY_CELLS
from leap_model.pointer import read_pointer
from leap_model.references import Asked, Cells, References
from leap_model.store import LocalStore
from leap_model.times import start_of

COLUMNS = ("part", "rows", "MB", "load ms", "first look-up ms", "20 look-ups µs")
DAYS = 30
_ATTEMPTS = 750_000
_LOADS, _LOOKS = 20, 2_000
_SHORT = Settings(estimator=ResidualNetwork(least_steps=100, most_steps=100))
"""What is measured does not depend on how well the networks learned."""


def run() -> list[tuple[object, ...]]:
    """Processor time, medians; loads of the whole artifact, once it was found whole, and the first
    look-up after each, which digests every byte of the part. `neither` has a few of both."""
    draw = np.random.default_rng(1)
    with simulated(5, 500) as (_, store):
        retrain(store, "local", START + timedelta(days=5), _SHORT)
        pointer, _ = read_pointer(store, "local", "throughput")
        if pointer is None:
            raise RuntimeError("the store has no model")
        small = load(store.folder(pointer.uri), pointer.manifest_sha256)
        families = draw.integers(0, 2**64, MOST_FAMILIES, np.uint64)
        ran = np.append(families, draw.choice(families, _ATTEMPTS - MOST_FAMILIES))
        completed = start_of(START) + draw.integers(0, DAYS * DAY_US, _ATTEMPTS)
        outcomes = Outcomes(ran, completed, draw.normal(8, 3, _ATTEMPTS))
        snapshot = snapshot_as_of(outcomes, start_of(START) + DAYS * DAY_US)
        if small.references is None:
            raise RuntimeError("the network recalls nothing")
        cells = _cells(families, completed, draw, len(small.references.hardware))
        references = References(
            cells, small.references.model_types, small.references.hardware, small.references.recall
        )
        return [
            _row(store, "neither", small, families),
            _row(store, "history", replace(small, snapshot=snapshot), families),
            _row(store, "references", replace(small, references=references), families),
        ]


def _cells(families: Hashes, completed: Ints, draw: np.random.Generator, types: int) -> Cells:
    """Two of each family."""
    count = MOST_FAMILY_CELLS
    return Cells(
        np.sort(np.repeat(families, 2)),
        draw.integers(0, types, count).astype(np.int32),
        draw.normal(5, 2, (count, 2)).astype(np.float32),
        draw.normal(0, 0.2, count).astype(np.float32),
        draw.normal(0, 2, count).astype(np.float32),
        np.ones(count, np.float32),
        completed[:count].astype(np.int64),
    )


def _row(store: LocalStore, part: str, artifact: Artifact, families: Hashes) -> tuple[object, ...]:
    packed = pack(artifact)
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    folder = store.folder(uri)
    load(folder, packed.manifest_sha256)  # finds it whole
    keys = families[::12_500][:20]
    opened = list[Artifact]()
    loads, _ = processor_milliseconds(
        [lambda: opened.append(load(folder, packed.manifest_sha256))] * _LOADS
    )
    firsts, _ = processor_milliseconds([_look(artifact, part, keys) for artifact in opened])
    looks, _ = processor_milliseconds([_look(opened[0], part, keys)] * _LOOKS)
    files = [body for name, body in packed.files.items() if name.startswith(f"{part}/")]
    size = sum(map(len, files)) / 1e6
    rows = {"history": MOST_FAMILIES, "references": MOST_FAMILY_CELLS}.get(part, 0)
    return part, f"{rows:,}", f"{size:.1f}", f"{loads:.1f}", f"{firsts:.1f}", f"{looks * 1e3:.0f}"


def _look(artifact: Artifact, part: str, keys: Hashes) -> Callable[[], object]:
    if part != "references":
        return lambda: artifact.snapshot.lookup(keys)
    references = artifact.references
    if references is None:
        raise RuntimeError("the network recalls nothing")
    count = len(keys)
    size = np.full((count, 2), 5, np.float32)
    at = np.full(count, start_of(START) + DAYS * DAY_US)
    # One job on twenty types, as a ranking asks.
    asked = Asked(
        keys[:1].repeat(count), keys[:1].repeat(count), np.arange(count, dtype=np.int32), size, at
    )
    return lambda: references.recalled(asked)
