"""leap retrain: one nightly run."""

from datetime import date
from typing import Any

import click

from cli import options, training_options
from cli.console import as_json, out, percent, print_json, printable, spinner
from cli.following import follow
from functions.retrain.learning.workers import Processes
from functions.retrain.settings import BUDGET_S, MOST_BUDGET_S, Settings
from leap_model.store import Store


@click.command("retrain")
@options.store
@options.stage
@click.option(
    "--as-of",
    type=options.DATE,
    help="Knows what completed before this day, 00:00 UTC. Default: today.",
)
@training_options.window_days
@training_options.history_days
@options.target
@training_options.estimators
@training_options.constants
@training_options.engine
@click.option(
    "--budget-s",
    type=click.FloatRange(0, MOST_BUDGET_S),
    default=BUDGET_S,
    show_default=True,
    help="Seconds in which challengers are tried.",
)
@click.option(
    "--gate-margin",
    type=options.SHARE,
    default=Settings().gate_margin,
    show_default=True,
    help="How far w20 may fall below the live model's on the same day.",
)
@click.option("--test-run", is_flag=True, help="Publish, but never point.")
@click.option("--force", is_flag=True, help="Point without an evaluation or against the gate.")
@as_json
def command(
    store: Store,
    stage: str,
    as_of: date | None,
    window_days: int,
    history_days: int,
    target: str,
    estimators: tuple[str, ...],
    constants: dict[str, str],
    processes: Processes,
    budget_s: float,
    gate_margin: float,
    test_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Train a model on the last days, judge it on the newest, publish it, point the stage at it.

    Example: leap retrain --store ./store --as-of 2026-01-31
    """
    from functions.retrain.nightly import retrain

    settings = training_options.settings_of(
        estimators[0],
        constants,
        challengers=estimators[1:],
        target=target,
        window_days=window_days,
        history_days=history_days,
        gate_margin=gate_margin,
        budget_s=budget_s,
        processes=processes,
    )
    with spinner("retrain") as watch:
        metrics = retrain(
            store,
            stage,
            as_of or options.today(),
            settings,
            test_run=test_run,
            force=force,
            watch=watch,
        )
    follow(store, stage, target)
    if as_json:
        print_json(metrics)
    else:
        _print(metrics, store, stage)


def _print(metrics: dict[str, Any], store: Store, stage: str) -> None:
    window, evaluation = metrics["window"], metrics["evaluation"]
    missing = len(window["missing_days"])
    target, version = metrics["target"], metrics["version"]
    out.print(f"version {version}")
    if metrics["trial"] is not None:
        out.print(metrics["trial"]["why"])
    out.print(
        f"{metrics['estimator']} trained on {metrics['rows']:,} attempts "
        f"from {window['from']} to {window['to']}"
        + (f" ({missing:,} days without attempts)" if missing else "")
    )
    out.print(
        f"judged on {evaluation['attempts']:,} attempts of {evaluation['from']}: "
        f"within 20 % {percent(evaluation['w20'])}, within 10 % {percent(evaluation['w10'])}, "
        f"median error {percent(evaluation['mdape'])}"
    )
    live = metrics["live"]
    if live is not None:
        out.print(f"live {live['version']} on the same attempts: {_judged(live)}")
    for name, count in metrics["unknown_hardware"].items():
        out.print(printable(f"{count:,} attempts ran on {name}, unknown to the catalogue"))
    for key in metrics["skipped_objects"]:
        out.print(f"left out {key}: it is no attempt file")
    out.print(f"artifact {store}/models/{target}/{version}")
    out.print(f"metrics  {store}/reports/{target}/{version}/metrics.json")
    out.print(f"report   {store}/reports/{target}/{version}/report.html")
    if metrics["pointed"]:
        out.print(f"stage {stage} points at it")
    else:
        out.print(f"stage {stage} does not point at it: {metrics['reason']}")


def _judged(live: dict[str, Any]) -> str:
    evaluation = live["evaluation"]
    if evaluation is None:
        return f"not scored, {live['reason']}"
    return f"within 20 % {percent(evaluation['w20'])}"
