"""leap backtest: nightly retrains over the past."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import click

from cli import options, training_options
from cli.console import as_json, out, percent, print_json, print_table, printable, spinner
from cli.intervals import print_intervals
from functions.retrain.learning.workers import Processes
from leap_model.store import Store


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
@training_options.window_days
@training_options.history_days
@options.horizon_days
@options.target
@training_options.estimator
@training_options.constants
@training_options.engine
@click.option("--compare", callback=_names, help="Comparators, separated by commas.")
@click.option(
    "--online-history",
    is_flag=True,
    help="Attempts that completed earlier within the horizon are visible as history.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Also write a page of pictures and tables to this HTML file.",
)
@as_json
def command(
    store: Store,
    nights: int,
    first: date | None,
    window_days: int,
    history_days: int,
    horizon_days: int,
    target: str,
    estimator: str,
    constants: dict[str, str],
    processes: Processes,
    compare: tuple[str, ...],
    online_history: bool,
    report: Path | None,
    as_json: bool,
) -> None:
    """Retrain as on each of N nights, and score each model on the days that followed.

    Comparators: any estimator by name (cascade-published takes hours); without-history, the same
    estimator without history columns; family-median, of the family's earlier attempts;
    family-median-else-model; lookup-table, the median of model type, hardware type, hosts and
    batch size. Those that answer for some attempts only are followed by a table of every method
    on just those attempts. Each method's w20 is set against the estimator's night by night, on the
    attempts that it answers, with Student's t interval over the nights.

    Example: leap backtest --store ./store --nights 5 --compare family-median-else-model
    """
    from functions.retrain.backtest import Plan, backtest
    from functions.retrain.reports import write_page

    if report is not None and not report.parent.is_dir():
        raise click.BadParameter(f"{report.parent} is no folder", param_hint="--report")
    settings = training_options.settings_of(
        estimator,
        constants,
        target=target,
        window_days=window_days,
        history_days=history_days,
        processes=processes,
    )
    plan = Plan(nights, first, horizon_days, compare, online_history)
    with spinner("backtest") as watch:
        result = backtest(store, settings, plan, watch)
    if report is not None:
        write_page(report, result)
    if as_json:
        print_json(result)
        return
    _print(result)
    if report is not None:
        out.print(printable(f"report   {report}"))


def _print(result: Mapping[str, Any]) -> None:
    own = result["estimator"]
    if own in result["comparators"]:  # with other constants
        own += " as set"
    everyone = {own: result} | result["comparators"]
    columns = (
        *("", "w10", "w20", "w20 range", "median error", "ratio"),
        *("all nights: new families", "known", "answered", "coverage"),
    )
    rows = [(*_row(name, entry), *_apart(entry["nights"])) for name, entry in everyone.items()]
    nights = len(result["nights"])
    title = f"{result['target']}, median of {nights} night{'s' if nights != 1 else ''}"
    print_table(title, columns, rows)
    for partial, methods in result["covered"].items():
        shown = [
            (
                *_row(own if name == "model" else name, entry),
                f"{sum(night['attempts'] for night in entry['nights']):,}",
            )
            for name, entry in methods.items()
        ]
        print_table(f"Of the attempts that {partial} answers", (*columns[:6], "answered"), shown)
    if result["differences"]:
        apart = [(name, *_apart_from(entry)) for name, entry in result["differences"].items()]
        print_table(f"w20 less that of {own}", ("", "points", "95 % interval", "nights"), apart)
    print_intervals(result["intervals"])
    out.print(f"the most that any model could have within 20 %: {_ceiling(result)}")


def _ceiling(result: Mapping[str, Any]) -> str:
    """The median of the nights, each estimated from the repeats before it."""
    shares = (night["noise_ceiling_w20"] for night in result["nights"])
    known = [share for share in shares if share is not None]
    return percent(median(known)) if known else "unknown, too few attempts repeat each other"


def _apart_from(entry: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = entry["low"], entry["high"]
    sure = "–" if low is None else f"{_points(low)} to {_points(high)}"
    return (_points(entry["mean"]), sure, str(entry["nights"]))


def _points(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:+.1f}"


def _row(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    middle = entry["median"]
    w20 = [night["w20"] for night in entry["nights"] if night["w20"] is not None]
    span = f"{percent(min(w20))} – {percent(max(w20))}" if w20 else "–"
    ratio = "–" if middle["ratio"] is None else f"{middle['ratio']:.2f}"
    return (
        name,
        percent(middle["w10"]),
        percent(middle["w20"]),
        span,
        percent(middle["mdape"]),
        ratio,
    )


def _apart(nights: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Families that never ran before and the others, over the attempts of all nights."""
    attempts = sum(night["attempts"] for night in nights)
    shares = [night["coverage"] for night in nights if night["coverage"] is not None]
    coverage = sum(shares) / len(shares) if shares else None
    return (
        percent(_pooled(nights, "cold")),
        percent(_pooled(nights, "warm")),
        f"{attempts:,}",
        percent(coverage),
    )


def _pooled(nights: Sequence[dict[str, Any]], part: str) -> float | None:
    """The share over the attempts of all nights."""
    counted = [night[part] for night in nights if night[part]["attempts"]]
    total = sum(entry["attempts"] for entry in counted)
    return sum(entry["w20"] * entry["attempts"] for entry in counted) / total if total else None
