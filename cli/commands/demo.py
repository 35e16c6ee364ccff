"""leap demo: the whole loop, on a local folder or on an AWS on this machine."""

import shutil
import tempfile
from pathlib import Path

import click

from cli.console import out

_LOCAL, _AWS = (14, 1_000), (10, 500)
"""Days and attempts a day, where none are given."""


@click.command("demo")
@click.option(
    "--aws",
    "on_aws",
    is_flag=True,
    help="Deploy the stack to an AWS on this machine, and show the loop there. make demo sets up "
    "what that needs.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Folder to leave everything in; must be empty or absent. Default: a temporary folder.",
)
@click.option(
    "--days",
    type=click.IntRange(3, 365),
    help=f"Days of the fleet. Default: {_LOCAL[0]}, with --aws {_AWS[0]}.",
)
@click.option(
    "--per-day",
    type=click.IntRange(200, 100_000),
    help=f"Attempts a day. Default: {_LOCAL[1]:,}, with --aws {_AWS[1]:,}.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same fleet."
)
def command(
    on_aws: bool, keep: Path | None, days: int | None, per_day: int | None, seed: int
) -> None:
    """Simulate a fleet, import it, train, publish, and rank a job over HTTP on 127.0.0.1.

    With --aws the attempts are published as events and everything runs in the deployed stack. It
    is taken down at the end, also after Ctrl-C; logs stay where --keep says, or not at all.

    Example: leap demo --keep ./leap-demo
    """
    if on_aws:
        from cli.local_aws.demo import run
    else:
        from cli.demo import run

    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise click.ClickException(f"{keep} must be an empty folder, or absent")
    folder = keep or Path(tempfile.mkdtemp(prefix="leap-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    default_days, default_per_day = _AWS if on_aws else _LOCAL
    kept = False
    try:
        run(folder, days=days or default_days, per_day=per_day or default_per_day, seed=seed)
        kept = not on_aws
    finally:
        if keep is None and not kept:
            shutil.rmtree(folder, ignore_errors=True)
    if keep is not None or kept:
        out.print(f"\neverything lies in {folder}; remove it when you have seen enough")
