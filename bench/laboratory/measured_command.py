"""The laboratory's command on real measured throughput."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.laboratory import methods
from bench.laboratory.commands import named, trees_option
from bench.laboratory.measured_data import data_digest
from bench.laboratory.measured_table import CROSS, Filling, cross_hardware, inference, mlperf
from bench.laboratory.results import Results
from cli import training_options
from cli.console import as_json, percent, print_json, print_table, spinner
from functions.retrain.settings import Settings

SPLITS = ("mlperf", "inference", "cross")


def _splits(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = tuple(name.strip() for name in value.split(","))
    for name in chosen:
        if name not in SPLITS:
            raise click.BadParameter(f"{name} is none of {', '.join(SPLITS)}", ctx, param)
    return chosen


@click.command()
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--methods",
    "names",
    callback=named,
    default="single,plain,cascade,peak-by-model,roofline-by-model,scaling-rule",
    show_default=True,
    help="Separated by commas.",
)
@click.option(
    "--splits",
    callback=_splits,
    default=",".join(SPLITS),
    show_default=True,
    help="Which, separated by commas.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1_000),
    default=3,
    show_default=True,
    help="Draws of configurations of the inference file.",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where results are kept.",
)
@trees_option
@training_options.processes
@as_json
def measured(
    data: Path,
    names: tuple[str, ...],
    splits: tuple[str, ...],
    seeds: int,
    results: Path,
    trees: float,
    processes: int | None,
    as_json: bool,
) -> None:
    """Methods on DATA: training.jsonl.gz, inference.jsonl.gz and hardware.csv.

    Example: python -m bench.laboratory measured data --results results
    """
    chosen = [methods.method(name, trees) for name in names]
    kept = Results(results, data_digest(data))
    with spinner("measured") as watch:
        filling = Filling(chosen, kept, Settings(processes=processes), watch)
        made = {
            "mlperf": lambda: mlperf(data, filling),
            "inference": lambda: inference(data, filling, seeds),
            "cross": lambda: cross_hardware(data, filling),
        }
        found = {name: made[name]() for name in SPLITS if name in splits}
    if as_json:
        print_json({"data": kept.fleet, **found})
        return
    shown = {"mlperf": _show_mlperf, "inference": _show_inference, "cross": _show_cross}
    for name, told in found.items():
        shown[name](told)


def _show_mlperf(found: Mapping[str, Any]) -> None:
    for seen, title in (("before", "history before the split"), ("online", "online history")):
        rows = [
            (
                name,
                *(
                    f"{percent(told[seen][part][figure])}"
                    for part in ("all", "first", "repeats")
                    for figure in ("w20", "w10", "mdape")
                ),
                percent(told[seen]["all"]["coverage"]),
            )
            for name, told in found.items()
        ]
        counts = next(iter(found.values()))[seen]
        sizes = ", ".join(f"{part} {counts[part]['attempts']:,}" for part in counts)
        columns = (
            *("", "w20", "w10", "median error", "first: w20", "w10", "median error"),
            *("repeats: w20", "w10", "median error", "coverage"),
        )
        print_table(f"MLPerf v4.1, {title} ({sizes})", columns, rows)


def _show_inference(found: Mapping[str, Any]) -> None:
    columns = ("", "w20", "range", "w10", "median error", "coverage")
    rows = [
        (
            *(name, percent(told["median"]["w20"])),
            f"{percent(told['least'])} – {percent(told['most'])}",
            *(percent(told["median"][figure]) for figure in ("w10", "mdape", "coverage")),
        )
        for name, told in found.items()
    ]
    print_table("Inference, configurations held out, median of seeds", columns, rows)


def _show_cross(found: Mapping[str, Any]) -> None:
    columns = (
        *("", "w20", "median |log error|", "coverage"),
        *("pairs by throughput", "pairs by dollar", "regret"),
    )
    for part, title in (("mlperf", "MLPerf's runs"), ("all", "all runs")):
        rows = [(name, *_cross_row(told[part]["mean"])) for name, told in found.items()]
        print_table(f"Types withheld, {title}, mean over types", columns, rows)
    for name, told in found.items():
        rows = [
            (each, entry["attempts"], entry["shapes"], *_cross_row(entry))
            for each, entry in told["mlperf"]["types"].items()
        ]
        print_table(f"{name}, MLPerf's runs", ("", "runs", "shapes", *columns[1:]), rows)


def _cross_row(told: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        ("–" if told[name] is None else f"{told[name]:.3f}")
        if name == "log_error"
        else percent(told[name])
        for name in CROSS
    )
