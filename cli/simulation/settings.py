"""The launch configuration each family submits, as its owners wrote it."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cli.simulation.arrays import Bools, Ints, pick
from cli.simulation.workload import PRECISIONS, Workload

Scalar: TypeAlias = str | int | float | bool | None

_FRAMEWORKS = (
    ("pytorch", ("2.4.1", "2.5.0", "2.6.0"), (0.94, 1.0, 1.04)),
    ("jax", ("0.4.30", "0.4.38", "0.5.2"), (0.98, 1.02, 1.05)),
    ("tensorflow", ("2.15.0", "2.17.0", "2.18.0"), (0.90, 0.93, 0.95)),
)
_OPTIMIZERS = ("adam", "adamw", "rowwise_adagrad", "sgd", "lamb")
_DATASETS = (
    *("feed_events", "ads_clicks", "shop_sessions", "video_watch", "search_logs", "web_crawl"),
    *("images_internal", "image_text_pairs", "call_audio", "code_dump", "maps_tiles", "messages"),
)
# How often a family leaves a key out; a key with its plain value is left out far more often.
_OMITTED = 0.08
_OMITTED_WHERE_PLAIN = 0.6


@dataclass(frozen=True)
class Settings:
    """What the families' configurations say, beyond what a run changes.

    `fixed` holds the constant part, one dict a family; the others, shape (F,), say which families
    also state the batch of the whole job, their readers, and the accelerators of a host.
    """

    fixed: tuple[dict[str, Scalar], ...]
    with_global_batch: Bools
    with_readers: Bools
    with_accelerators: Bools


def draw_settings(rng: np.random.Generator, work: Workload) -> tuple[Settings, Workload]:
    """Draw the configuration of every family; also the workload at its framework's speed."""
    count = len(work.kind)
    framework = pick(rng, (0.72, 0.18, 0.10), count)
    version = pick(rng, (0.25, 0.45, 0.30), count)
    speeds = np.array([speed for _, _, speed in _FRAMEWORKS])
    columns = _columns(rng, work, framework, version)
    omitted = {name: rng.random(count) for name in columns}
    fixed = tuple(
        {
            name: values[row]
            for name, values in columns.items()
            if omitted[name][row] >= _omission(values[row])
        }
        for row in range(count)
    )
    settings = Settings(
        fixed=fixed,
        with_global_batch=rng.random(count) < 0.5,
        with_readers=rng.random(count) < 0.95,
        with_accelerators=rng.random(count) < 0.2,
    )
    return settings, replace(work, software=speeds[framework, version])


def _omission(value: Scalar) -> float:
    plain = value is False or (type(value) is int and value == 1)
    return _OMITTED_WHERE_PLAIN if plain else _OMITTED


def _columns(
    rng: np.random.Generator, work: Workload, framework: Ints, version: Ints
) -> dict[str, list[Scalar]]:
    count = len(work.kind)
    optimizer = (work.kind + pick(rng, (0.6, 0.25, 0.15), count)) % len(_OPTIMIZERS)
    dataset = (work.kind * 2 + rng.integers(0, 6, count)) % len(_DATASETS)
    return {
        "precision": [PRECISIONS[i] for i in work.precision],
        "optimizer": [_OPTIMIZERS[i] for i in optimizer],
        "framework": [_FRAMEWORKS[i][0] for i in framework],
        "framework_version": [
            _FRAMEWORKS[i][1][j] for i, j in zip(framework, version, strict=True)
        ],
        "tensor_parallel": work.tensor_parallel.astype(int).tolist(),
        "pipeline_parallel": work.pipeline_parallel.astype(int).tolist(),
        "gradient_accumulation_steps": work.accumulation.astype(int).tolist(),
        "activation_checkpointing": work.checkpointing.tolist(),
        "compile": work.compiled.tolist(),
        "dataset": [_DATASETS[i] for i in dataset],
        # Two keys that say nothing about speed.
        "random_seed": rng.integers(0, 10_000, count).tolist(),
        "owner_note": [("", "nightly", "experiment", None)[i] for i in rng.integers(0, 4, count)],
    }
