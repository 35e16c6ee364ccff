"""Attempts as the launcher reports them."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np

from cli.simulation.arrays import Floats
from cli.simulation.fleet import NETWORK_CLASSES, SUB_TYPES, ZONES, Day, Fleet
from cli.simulation.names import job_name

_ARCHITECTURE = ("params_m", "gmacs", "activations_m", "embedding_params_m")
_MODEL_NUMBERS = {
    "layers": "layers",
    "sequence_length": "sequence",
    "hidden_size": "hidden",
    "embedding_tables": "tables",
    "embedding_dim": "embedding_dim",
}


_SCALARS = (
    *("hardware_type", "num_trainers", "batch_size", "throughput"),
    *("duration_s", "cost_usd", "utilization"),
)
_ALLOCATION = ("network_class", "zone", "server_sub_type")
_NUMBERS = (*_ARCHITECTURE, *_MODEL_NUMBERS)


def attempt_ids(date: dt.date, digests: list[str]) -> list[str]:
    """Ids of the attempts of `date`, from 32 hexadecimal digits each."""
    return [f"{date:%Y%m%d}-{row:06d}-{digest[-12:]}" for row, digest in enumerate(digests)]


def draw_digests(rng: np.random.Generator, count: int) -> list[str]:
    """`count` strings of 32 hexadecimal digits."""
    text = rng.bytes(16 * count).hex()
    return [text[start : start + 32] for start in range(0, 32 * count, 32)]


def attempt_records(
    fleet: Fleet, day: Day, date: dt.date, digests: list[str], runs: list[int]
) -> Iterator[dict[str, Any]]:
    """The attempts of one day, one at a time, in order of completion.

    Parameters
    ----------
    fleet, day : Fleet, Day
        What is launched, and the attempts of `date`.
    digests, runs : list
        Hexadecimal digits and run number of every attempt, for its names.
    """
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC)
    columns = _columns(fleet, day)
    family = day.family.tolist()
    for row, attempt_id in enumerate(attempt_ids(date, digests)):
        of = family[row]
        completed = midnight + dt.timedelta(seconds=columns["completed_s"][row])
        launched = completed - dt.timedelta(seconds=columns["duration_s"][row])
        record: dict[str, Any] = {
            "attempt_id": attempt_id,
            "job_name": job_name(fleet.templates[of], launched, runs[row], digests[row]),
            "model_type": fleet.model_names[fleet.families.model[of]],
            "launched_at": f"{launched:%Y-%m-%dT%H:%M:%SZ}",
            "completed_at": f"{completed:%Y-%m-%dT%H:%M:%SZ}",
        }
        if fleet.states_family[of]:
            record["job_family"] = fleet.family_names[of]
        if fleet.settings.with_accelerators[of]:
            record["accelerators_per_host"] = columns["accelerators"][row]
        record |= {name: columns[name][row] for name in _SCALARS}
        record["config"] = _config(fleet, of, columns, row)
        record["allocation"] = {name: columns[name][row] for name in _ALLOCATION}
        record["architecture"] = {
            name: columns[name][row] for name in _NUMBERS if columns[name][row]
        }
        yield record


def _columns(fleet: Fleet, day: Day) -> dict[str, list[Any]]:
    """The values that differ from run to run, as lists of plain Python values."""
    outcomes, work = day.outcomes, day.work
    model = fleet.families.model[day.family]
    hardware = [fleet.hardware.names[i] for i in day.hardware]
    generations = [SUB_TYPES[i] for i in day.sub_type]
    return {
        "completed_s": outcomes.completed_s.tolist(),
        "duration_s": outcomes.duration_s.tolist(),
        "hardware_type": hardware,
        "accelerators": fleet.hardware.accelerators[day.hardware].astype(int).tolist(),
        "num_trainers": work.trainers.astype(int).tolist(),
        "batch_size": work.batch.astype(int).tolist(),
        "throughput": _nullable(outcomes.throughput, 4),
        "cost_usd": _nullable(outcomes.cost_usd, 2),
        "utilization": _nullable(outcomes.utilization, 4),
        "data_readers": work.readers.astype(int).tolist(),
        "network_class": [NETWORK_CLASSES[i] for i in day.network_class],
        "zone": [ZONES[i] for i in day.zone],
        "server_sub_type": [
            f"{name}/{part}" for name, part in zip(hardware, generations, strict=True)
        ],
        **{name: getattr(work, name).tolist() for name in _ARCHITECTURE},
        **{
            name: getattr(fleet.models, source)[model].tolist()
            for name, source in _MODEL_NUMBERS.items()
        },
    }


def _config(fleet: Fleet, family: int, columns: dict[str, list[Any]], row: int) -> dict[str, Any]:
    settings = fleet.settings
    config: dict[str, Any] = dict(settings.fixed[family])
    if settings.with_readers[family]:
        config["data_readers"] = columns["data_readers"][row]
    if settings.with_global_batch[family]:
        config["global_batch_size"] = columns["batch_size"][row] * columns["num_trainers"][row]
    return config


def _nullable(values: Floats, digits: int) -> list[float | None]:
    return [None if value != value else round(value, digits) for value in values.tolist()]
