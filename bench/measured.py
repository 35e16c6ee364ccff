"""Real measured throughput: MLPerf v4.1 from everything before it, without the short runs."""

from pathlib import Path
from typing import Any

from bench.laboratory.measured_data import stored
from bench.laboratory.measured_splits import HORIZON_DAYS, SPLIT, WINDOW_DAYS
from cli.console import percent
from functions.retrain.backtest import MODEL, Plan, backtest
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.settings import Settings

COLUMNS = (
    *("method", "w20", "w10", "median error", "w20 new families", "w20 known families"),
    *("attempts", "coverage"),
)
DATA = Path(__file__).parents[2] / "shared" / "data"
COMPARED = (
    *("network", "plain", "cascade", "without-history"),
    *("family-median", "family-median-else-model", "lookup-table"),
)


def run() -> list[tuple[object, ...]]:
    """The same night and attempts for every method; nothing where the data is absent."""
    if not (DATA / "training.jsonl.gz").exists():
        return []
    with stored(DATA, "training") as (store, _):
        plan = Plan(1, SPLIT, horizon_days=HORIZON_DAYS, compare=COMPARED)
        settings = Settings(estimator=ESTIMATORS["single"], window_days=WINDOW_DAYS)
        result = backtest(store, settings, plan)
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
