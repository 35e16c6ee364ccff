"""The loop that `leap demo` shows: attempts in at one end, a preference out at the other."""

import json
from datetime import date, timedelta
from pathlib import Path

from cli.console import out, step
from cli.example import newest_attempt, request_of, show_answer, told
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

_START = date(2026, 1, 1)
_CLIENT_TIMEOUT_S = 10.0
"""The demo waits longer than a launcher would: the machine may be busy, and nobody is launching."""


def run(folder: Path, *, days: int, per_day: int, seed: int) -> None:
    """Run the loop in a folder that is empty or absent."""
    fleet_folder, store = folder / "fleet", LocalStore(folder / "store")
    as_of = _START + timedelta(days=days)
    fleet = step(
        f"1. simulate {days} days of a fleet, {per_day:,} attempts a day",
        lambda: simulate(fleet_folder, days=days, per_day=per_day, seed=seed, start=_START),
    )
    counts = step(
        "2. import the attempts", lambda: _import(store, fleet.files, fleet.catalogue, as_of)
    )
    out.print(
        f"   stored {counts.stored:,}, duplicates {counts.duplicates:,}, "
        f"rejected {counts.rejected:,}"
    )
    settings = Settings(window_days=days - 1)
    metrics = step(
        f"3. retrain as of {as_of}, publish, point",
        lambda: retrain(store, "local", as_of, settings),
    )
    out.print(told(metrics))
    attempt = newest_attempt(fleet.files[-1])
    request = request_of(attempt, fleet.catalogue)
    request_file = folder / "request.json"
    request_file.write_text(json.dumps(request, indent=2) + "\n")
    ranker = Ranker.from_store(store.root)
    ranker.rank(request)  # loads the model, as a launcher does when it starts
    with serving(ranker) as url:
        client = RankClient(url, timeout_s=_CLIENT_TIMEOUT_S)
        answer = step(f"4. POST a job to {url}", lambda: client.rank(request))
    show_answer(answer, request, attempt, fleet.truth)
    target, version = metrics["target"], metrics["version"]
    out.print(f"\nartifact {store.root / 'models' / target / version}")
    reports = store.root / "reports" / target / version
    out.print(f"metrics  {reports / 'metrics.json'}")
    out.print(f"report   {reports / 'report.html'}")
    out.print(f"again    leap rank {request_file} --store {store.root}")


def _import(store: LocalStore, files: list[Path], catalogue: Path, as_of: date) -> Counts:
    keep_catalogue(store, catalogue.read_bytes(), catalogue.name)
    counts = Counts()
    for file in files:
        take_in(store, read_records(file), counts, start_of(as_of))
    return counts
