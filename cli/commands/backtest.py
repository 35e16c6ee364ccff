"""leap backtest: nightly retrains over the past."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import click

from cli import options
from cli.console import as_json, percent, print_json, print_table, spinner
from leap_model.store import LocalStore


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    from functions.retrain.comparators import COMPARATORS

    names = tuple(name.strip() for name in (value or "").split(",") if name.strip())
    for name in names:
        if name not in COMPARATORS:
            raise click.BadParameter(f"{name} is none of {', '.join(COMPARATORS)}", ctx, param)
    return names


@click.command("backtest")
@options.store
@click.option("--nights", type=click.IntRange(1, 1_000), required=True, help="How many.")
@click.option("--from", "first", type=options.DATE, help="First night. Default: the last nights.")
@options.window_days
@click.option(
    "--horizon-days",
    type=click.IntRange(1, 3_650),
    default=1,
    show_default=True,
    help="Days from each night on that it is scored on.",
)
@options.estimator
@click.option("--compare", callback=_names, help="Comparators, separated by commas.")
@click.option(
    "--online-history",
    is_flag=True,
    help="Attempts that completed earlier within the horizon are visible as history.",
)
@as_json
def command(
    store: LocalStore,
    nights: int,
    first: date | None,
    window_days: int,
    horizon_days: int,
    estimator: str,
    compare: tuple[str, ...],
    online_history: bool,
    as_json: bool,
) -> None:
    """Retrain as on each of N nights, and score each model on the days that followed.

    Comparators: without-history (the same estimator without history columns),
    family-median-else-model.

    Example: leap backtest --store ./store --nights 5 --compare family-median-else-model
    """
    from functions.retrain.backtest import Plan, backtest
    from functions.retrain.estimators import ESTIMATORS
    from functions.retrain.settings import Settings

    settings = Settings(estimator=ESTIMATORS[estimator], window_days=window_days)
    plan = Plan(nights, first, horizon_days, compare, online_history)
    with spinner("backtest") as watch:
        result = backtest(store, settings, plan, watch)
    if as_json:
        print_json(result)
    else:
        _print(result)


def _print(result: Mapping[str, Any]) -> None:
    everyone = {result["estimator"]: result} | result["comparators"]
    columns = ("", "w10", "w20", "w20 range", "median error", "w20 cold", "w20 warm", "attempts")
    rows = []
    for name, entry in everyone.items():
        nights, median = entry["nights"], entry["median"]
        w20 = [night["w20"] for night in nights if night["w20"] is not None]
        span = f"{percent(min(w20))} – {percent(max(w20))}" if w20 else "–"
        rows.append(
            (
                name,
                percent(median["w10"]),
                percent(median["w20"]),
                span,
                percent(median["mdape"]),
                percent(_pooled(nights, "cold")),
                percent(_pooled(nights, "warm")),
                f"{sum(night['attempts'] for night in nights):,}",
            )
        )
    print_table(f"Median of {len(result['nights'])} nights", columns, rows)


def _pooled(nights: list[dict[str, Any]], part: str) -> float | None:
    """The share over the attempts of all nights."""
    counted = [night[part] for night in nights if night[part]["attempts"]]
    total = sum(entry["attempts"] for entry in counted)
    return sum(entry["w20"] * entry["attempts"] for entry in counted) / total if total else None
