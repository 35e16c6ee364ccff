"""The laboratory's command line."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from bench.laboratory import methods
from bench.laboratory.holdout import KINDS, Kept, groups, held_out
from bench.laboratory.judging import set_exam
from bench.laboratory.results import Results, fleet_digest
from bench.laboratory.table import Plan, fill, nights_of, settings_of, summary
from cli import options, training_options
from cli.console import as_json, out, percent, print_json, print_table, spinner
from cli.intervals import print_intervals
from functions.retrain.nights import read_past
from functions.retrain.settings import Settings
from leap_model.store import Store

_FOLDER = click.Path(file_okay=False, path_type=Path)
_MOST = click.option(
    "--most",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Attempts of a night that are asked about on every type.",
)
trees_option = click.option(
    "--trees",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of every count of trees and epochs, for a quicker and less accurate table.",
)


def named(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """The methods that a text names, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    for name in names:
        if name not in methods.NAMES:
            raise click.BadParameter(f"{name} is none of {', '.join(methods.NAMES)}", ctx, param)
    return names


@click.group()
def laboratory() -> None:
    """Methods side by side over nights of a fleet."""


@laboratory.command()
@options.store
@click.option("--truth", type=_FOLDER, help="A simulated fleet's truth, for regret and savings.")
@click.option("--nights", type=click.IntRange(1, 1_000), required=True, help="How many.")
@click.option("--from", "first", type=options.DATE, help="First night. Default: the last nights.")
@training_options.window_days
@options.horizon_days
@click.option("--methods", "names", callback=named, required=True, help="Separated by commas.")
@click.option("--baseline", help="Whom the others are compared with. Default: the first method.")
@click.option("--results", type=_FOLDER, required=True, help="Where results are kept.")
@_MOST
@trees_option
@training_options.processes
@as_json
def table(
    store: Store,
    truth: Path | None,
    nights: int,
    first: date | None,
    window_days: int,
    horizon_days: int,
    names: tuple[str, ...],
    baseline: str | None,
    results: Path,
    most: int,
    trees: float,
    processes: int | None,
    as_json: bool,
) -> None:
    """Results of every method and night, made where missing, and their table.

    Example: python -m bench.laboratory table --store S --truth fleet/truth --nights 5
    --methods single,plain,cascade,lookup-table --results results
    """
    chosen = [methods.method(name, trees) for name in names]
    against = baseline or names[0]
    if against not in names:
        raise click.BadParameter(f"{against} is not among the methods", param_hint="'--baseline'")
    settings = Settings(window_days=window_days, processes=processes)
    plan = Plan(nights, first, horizon_days, most)
    kept = Results(results, fleet_digest(store, truth))
    with spinner("table") as watch:
        filled = fill(store, truth, settings, plan, chosen, kept, watch)
    found = summary(filled, against)
    if as_json:
        print_json({"fleet": kept.fleet, "baseline": against, "methods": found})
    else:
        _print(found, against, nights)


@laboratory.command()
@options.store
@click.option("--truth", type=_FOLDER, help="A simulated fleet's truth, for regret.")
@click.option("--from", "first", type=options.DATE, help="The night. Default: the store's last.")
@training_options.window_days
@options.horizon_days
@click.option(
    "--estimator",
    "name",
    type=click.Choice(list(methods.MODELS)),
    default="single",
    show_default=True,
    help="Who learns.",
)
@click.option(
    "--largest",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Groups of each kind, those with the most attempts of the night.",
)
@click.option(
    "--least",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Attempts that a group needs, to train on and of the night.",
)
@click.option("--results", type=_FOLDER, help="Where rows are kept, to go on where it stopped.")
@_MOST
@trees_option
@training_options.processes
@as_json
def holdout(
    store: Store,
    truth: Path | None,
    first: date | None,
    window_days: int,
    horizon_days: int,
    name: str,
    largest: int,
    least: int,
    results: Path | None,
    most: int,
    trees: float,
    processes: int | None,
    as_json: bool,
) -> None:
    """What a night's attempts lose when their hardware type, or family of models, is held out.

    Example: python -m bench.laboratory holdout --store S --truth fleet/truth --estimator single
    """
    settings = Settings(window_days=window_days, processes=processes)
    (as_of,) = nights_of(store, Plan(1, first, horizon_days))
    past = read_past(store, settings, 1, as_of, horizon_days)
    exam = set_exam(past.night(as_of, settings), past.ids(as_of), truth, most)
    chosen = [
        group
        for kind in KINDS
        for group in groups(exam.night, len(exam.night.jobs), kind, largest, least)
    ]
    method = methods.method(name, trees)
    kept = None
    if results is not None:
        plan = Plan(1, as_of, horizon_days, most)
        key = settings_of(method, settings, plan)
        kept = Kept(Results(results, fleet_digest(store, truth)), as_of, method, key)
    with spinner("holdout") as watch:
        told = held_out(exam, method, chosen, settings.seed, watch, kept)
    if as_json:
        print_json({"night": as_of.isoformat(), "estimator": name, "groups": told})
    else:
        _print_held_out(told, f"{name}, night {as_of}")


def _print_held_out(told: Sequence[Mapping[str, Any]], title: str) -> None:
    columns = (
        *("held out", "rows", "attempts", "w20, all rows", "without", "loss"),
        *("as many at random", "loss", "regret, all rows", "without", "at random"),
    )
    rows = []
    for entry in told:
        w20 = {part: entry[part]["w20"] for part in ("all", "without", "random")}
        rows.append(
            (
                f"{entry['kind']} {entry['name']}",
                *(f"{entry[count]:,}" for count in ("rows", "attempts")),
                percent(w20["all"]),
                *(percent(w20["without"]), points(w20["without"] - w20["all"])),
                *(percent(w20["random"]), points(w20["random"] - w20["all"])),
                *(percent(entry[part]["regret"]) for part in ("all", "without", "random")),
            )
        )
    print_table(title, columns, rows)


def _print(found: Mapping[str, Mapping[str, Any]], baseline: str, nights: int) -> None:
    columns = (
        *("", "w20", "range", "w10", "median error", "new families", "known", "coverage"),
        *(f"w20 − {baseline}", "95 %", "s"),
    )
    rows = [(name, *_accuracy(entry)) for name, entry in found.items()]
    print_table(f"throughput, median of {nights} nights", columns, rows)
    ceilings = [
        (word, percent(next((entry[key] for entry in found.values() if entry[key]), None)))
        for word, key in (
            ("by the noise-free truth", "true_ceiling_w20"),
            ("estimated from repeats", "noise_ceiling_w20"),
        )
    ]
    print_table("Ceiling of w20", ("", "w20"), ceilings)
    if any(entry["decisions"]["all"]["regret"] is not None for entry in found.values()):
        _print_decisions(found)
    for name, entry in found.items():
        if entry["intervals"] is not None:
            out.print(f"{name}:", style="bold")
            print_intervals(entry["intervals"])


def _accuracy(entry: Mapping[str, Any]) -> Sequence[str]:
    apart = entry["difference"]
    sure = apart["low"] is not None
    seconds = entry["seconds"]
    return (
        percent(entry["w20"]),
        f"{percent(entry['least'])} – {percent(entry['most'])}",
        *(percent(entry[name]) for name in ("w10", "mdape", "cold", "warm", "coverage")),
        points(apart["mean"]),
        f"{points(apart['low'])} to {points(apart['high'])}" if sure else "–",
        "–" if seconds is None else f"{seconds:,.0f}",
    )


def _print_decisions(found: Mapping[str, Mapping[str, Any]]) -> None:
    columns = (
        *("", "best first", "regret", "by GPU-hours", "pairs in order", "saving", "coverage"),
        *("regret, new families", "known"),
    )
    names = ("best_first", "regret", "regret_by_gpu_hours", "pairwise", "saving", "coverage")
    rows = [
        (
            name,
            *(percent(entry["decisions"]["all"][figure]) for figure in names),
            *(percent(entry["decisions"][part]["regret"]) for part in ("cold", "warm")),
        )
        for name, entry in found.items()
    ]
    print_table("Decisions, by the noise-free truth", columns, rows)


def points(difference: float | None) -> str:
    """A difference of two shares in points of a hundred."""
    return "–" if difference is None else f"{difference * 100:+.1f}"
