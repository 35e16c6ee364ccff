"""The loop that `leap demo` shows: attempts in at one end, a preference out at the other."""

import gzip
import json
import time
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from cli.console import out, percent
from cli.preference import print_answer
from cli.readers import read_records
from cli.server import serving
from cli.simulation import simulate
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model import RankClient, Ranker
from leap_model.intake import Counts, take_in
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue
from leap_model.times import start_of

T = TypeVar("T")

_START = date(2026, 1, 1)
_CLIENT_TIMEOUT_S = 10.0
"""The demo waits longer than a launcher would: the machine may be busy, and nobody is launching."""


def run(folder: Path, *, days: int, per_day: int, seed: int) -> None:
    """Run the loop in a folder that is empty or absent."""
    fleet_folder, store = folder / "fleet", LocalStore(folder / "store")
    as_of = _START + timedelta(days=days)
    fleet = _step(
        f"1. simulate {days} days of a fleet, {per_day:,} attempts a day",
        lambda: simulate(fleet_folder, days=days, per_day=per_day, seed=seed, start=_START),
    )
    counts = _step(
        "2. import the attempts", lambda: _import(store, fleet.files, fleet.catalogue, as_of)
    )
    out.print(
        f"   stored {counts.stored:,}, duplicates {counts.duplicates:,}, "
        f"rejected {counts.rejected:,}"
    )
    settings = Settings(window_days=days - 1)
    metrics = _step(
        f"3. retrain as of {as_of}, publish, point",
        lambda: retrain(store, "local", as_of, settings),
    )
    evaluation = metrics["evaluation"]
    out.print(
        f"   trained on {metrics['rows']:,} attempts; of the {evaluation['attempts']:,} of the day "
        f"after, predicted within 20 %: {percent(evaluation['w20'])}"
    )
    attempt = newest_attempt(fleet.files[-1])
    request = request_of(attempt, fleet.catalogue)
    request_file = folder / "request.json"
    request_file.write_text(json.dumps(request, indent=2) + "\n")
    ranker = Ranker.from_store(store.root)
    ranker.rank(request)  # loads the model, as a launcher does when it starts
    with serving(ranker) as url:
        client = RankClient(url, timeout_s=_CLIENT_TIMEOUT_S)
        answer = _step(f"4. POST a job to {url}", lambda: client.rank(request))
    job = request["job"]
    out.print(
        f"   {job['job_name']}: {job['model_type']}, {job['num_trainers']} hosts, "
        f"{job['batch_size']:,} samples a host and step\n"
    )
    print_answer(answer)
    if answer["reason"] is not None:
        raise RuntimeError(f"the demo's own job was not ranked: {answer['reason']}")
    out.print(
        f"by the simulator's noise-free truth, which no model sees, the first choice does "
        f"{percent(_share_of_best(answer, fleet.truth, attempt))} of the work per dollar of the "
        "best of these"
    )
    target, version = metrics["target"], metrics["version"]
    out.print(f"\nartifact {store.root / 'models' / target / version}")
    reports = store.root / "reports" / target / version
    out.print(f"metrics  {reports / 'metrics.json'}")
    out.print(f"report   {reports / 'report.html'}")
    out.print(f"again    leap rank {request_file} --store {store.root}")


def _step(title: str, action: Callable[[], T]) -> T:
    out.print(title, style="bold")
    started = time.perf_counter()
    result = action()
    out.print(f"   {time.perf_counter() - started:.1f} s")
    return result


def _import(store: LocalStore, files: list[Path], catalogue: Path, as_of: date) -> Counts:
    keep_catalogue(store, catalogue.read_bytes(), catalogue.name)
    counts = Counts()
    for file in files:
        take_in(store, read_records(file), counts, start_of(as_of))
    return counts


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
