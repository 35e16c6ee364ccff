"""leap retrain: one nightly run."""

from datetime import date
from typing import Any

import click

from cli import options
from cli.console import as_json, out, percent, print_json, printable, spinner
from leap_model.store import LocalStore


@click.command("retrain")
@options.store
@options.stage
@click.option(
    "--as-of",
    type=options.DATE,
    help="Knows what completed before this day, 00:00 UTC. Default: today.",
)
@options.window_days
@options.target
@options.estimator
@click.option("--test-run", is_flag=True, help="Publish, but never point.")
@click.option("--force", is_flag=True, help="Point even without an evaluation.")
@as_json
def command(
    store: LocalStore,
    stage: str,
    as_of: date | None,
    window_days: int,
    target: str,
    estimator: str,
    test_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Train a model on the last days, judge it on the newest, publish it, point the stage at it.

    Example: leap retrain --store ./store --as-of 2026-01-31
    """
    from functions.retrain.estimators import ESTIMATORS
    from functions.retrain.nightly import retrain
    from functions.retrain.settings import Settings

    settings = Settings(target=target, estimator=ESTIMATORS[estimator], window_days=window_days)
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
    if as_json:
        print_json(metrics)
    else:
        _print(metrics, store, stage)


def _print(metrics: dict[str, Any], store: LocalStore, stage: str) -> None:
    window, evaluation = metrics["window"], metrics["evaluation"]
    missing = len(window["missing_days"])
    target, version = metrics["target"], metrics["version"]
    out.print(f"version {version}")
    out.print(
        f"trained on {metrics['rows']:,} attempts from {window['from']} to {window['to']}"
        + (f" ({missing:,} days without attempts)" if missing else "")
    )
    out.print(
        f"judged on {evaluation['attempts']:,} attempts of {evaluation['from']}: "
        f"within 20 % {percent(evaluation['w20'])}, within 10 % {percent(evaluation['w10'])}, "
        f"median error {percent(evaluation['mdape'])}"
    )
    for name, count in metrics["unknown_hardware"].items():
        out.print(printable(f"{count:,} attempts ran on {name}, unknown to the catalogue"))
    for key in metrics["skipped_objects"]:
        out.print(f"left out {key}: it is no attempt file")
    out.print(f"artifact {store.root / 'models' / target / version}")
    reports = store.root / "reports" / target / version
    out.print(f"metrics  {reports / 'metrics.json'}")
    out.print(f"report   {reports / 'report.html'}")
    if metrics["pointed"]:
        out.print(f"stage {stage} points at it")
    else:
        out.print(f"stage {stage} does not point at it: {metrics['reason']}")
