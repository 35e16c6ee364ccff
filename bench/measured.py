"""Real measured throughput: MLPerf v4.1 from everything before it, without the short runs."""

import gzip
import json
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cli.console import percent
from functions.retrain.backtest import MODEL, Plan, backtest
from functions.retrain.settings import Settings
from leap_model.intake import Counts, Record, take_in
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue
from leap_model.times import now_us

COLUMNS = (
    *("method", "w20", "w10", "median error", "w20 new families", "w20 known families"),
    *("attempts", "coverage"),
)
DATA = Path(__file__).parents[2] / "shared" / "data"
COMPARED = (
    *("plain", "cascade", "without-history"),
    *("family-median", "family-median-else-model", "lookup-table"),
)


def run() -> list[tuple[object, ...]]:
    """The same night and attempts for every method; nothing where the data is absent."""
    attempts = DATA / "training.jsonl.gz"
    if not attempts.exists():
        return []
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        store = LocalStore(folder)
        keep_catalogue(store, (DATA / "hardware.csv").read_bytes(), "hardware.csv")
        with gzip.open(attempts) as lines:
            kept = [
                Record.of_json(line) for line in lines if json.loads(line)["source"] != "lambda"
            ]
        take_in(store, kept, Counts(), now_us())
        plan = Plan(1, date(2024, 8, 1), horizon_days=130, compare=COMPARED)
        result = backtest(store, Settings(window_days=2_200), plan)
    own = result["estimator"]
    everyone = {own: result} | result["comparators"]
    rows = [_row(name, entry["nights"][0]) for name, entry in everyone.items()]
    for partial, methods in result["covered"].items():
        rows += [
            _row(f"{own if name == MODEL else name}, on what {partial} answers", entry["nights"][0])
            for name, entry in methods.items()
        ]
    return rows


def _row(name: str, night: dict[str, Any]) -> tuple[object, ...]:
    apart = [night.get(part, {}).get("w20") for part in ("cold", "warm")]
    figures = (night["w20"], night["w10"], night["mdape"], *apart)
    share = percent(night.get("coverage"))
    return (name, *(percent(figure) for figure in figures), night["attempts"], share)
