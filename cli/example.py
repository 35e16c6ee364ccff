"""The job that both demos ask for, and how they tell what came of it."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from cli.console import out, percent
from cli.preference import print_answer
from leap_model.errors import LeapError


class ExampleError(LeapError):
    """The demo's own job was not ranked."""


def newest_attempt(file: Path) -> dict[str, Any]:
    """A day's first attempt on several hosts."""
    with gzip.open(file, "rt") as lines:
        attempts = [json.loads(line) for line in lines]
    return next((a for a in attempts if a["num_trainers"] > 1), attempts[0])


def request_of(attempt: Mapping[str, Any], catalogue: Path) -> dict[str, Any]:
    """What a launcher would have asked before the attempt ran.

    Its candidates are every type of the catalogue, one without a price, and one that nobody knows.
    """
    types = json.loads(catalogue.read_text())["hardware_types"]
    names: list[Any] = [entry["hardware_type"] for entry in types]
    unpriced = {"hardware_type": names[0], "id": f"{names[0]} without a price", "cost_per_hour": 0}
    job = {
        name: attempt[name]
        for name in ("job_name", "job_family", "model_type", "num_trainers", "batch_size")
        if attempt.get(name) is not None
    }
    job |= {name: attempt.get(name, {}) for name in ("config", "architecture")}
    return {
        "job": job,
        "candidates": [*names, unpriced, "a-type-nobody-knows"],
        "launched_at": attempt["completed_at"],
    }


def told(metrics: Mapping[str, Any]) -> str:
    """What a nightly run learned, and why it chose this estimator where it tried several."""
    evaluation = metrics["evaluation"]
    why = "" if metrics["trial"] is None else f"   {metrics['trial']['why']}\n"
    return why + (
        f"   {metrics['estimator']} trained on {metrics['rows']:,} attempts; "
        f"of the {evaluation['attempts']:,} of the day after, "
        f"predicted within 20 %: {percent(evaluation['w20'])}"
    )


def show_answer(
    answer: Mapping[str, Any], request: Mapping[str, Any], attempt: Mapping[str, Any], truth: Path
) -> None:
    """Print job and preference, and how good the first choice is by the simulator's truth.

    Raises
    ------
    ExampleError
        There is no preference.
    """
    job = request["job"]
    out.print(
        f"   {job['job_name']}: {job['model_type']}, {job['num_trainers']} hosts, "
        f"{job['batch_size']:,} samples a host and step\n"
    )
    print_answer(answer)
    if answer["reason"] is not None:
        detail = answer.get("detail", "")
        raise ExampleError(f"the demo's own job was not ranked: {answer['reason']} {detail}")
    out.print(
        f"by the simulator's noise-free truth, which no model sees, the first choice does "
        f"{percent(_share_of_best(answer, truth, attempt))} of the work per dollar of the "
        "best of these"
    )


def _share_of_best(
    answer: Mapping[str, Any], truth: Path, attempt: Mapping[str, Any]
) -> float | None:
    """True work per dollar of the first choice over that of the truly best ranked candidate."""
    table = pq.read_table(
        truth / f"{attempt['completed_at'][:10]}.parquet",
        filters=[("attempt_id", "=", attempt["attempt_id"])],
    )
    (row,) = table.to_pylist()
    per_dollar = [
        row[entry["hardware_type"]] / entry["cost_per_hour"]
        if row[entry["hardware_type"]] is not None  # it would not fit in memory there
        else 0.0
        for entry in answer["preference"]
    ]
    return per_dollar[0] / max(per_dollar) if max(per_dollar) > 0 else None
