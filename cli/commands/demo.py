"""leap demo: the whole loop on a local folder."""

import shutil
import tempfile
from pathlib import Path

import click

from cli.console import out


@click.command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Folder to leave everything in; must be empty or absent. Default: a temporary folder.",
)
@click.option(
    "--days", type=click.IntRange(3, 365), default=14, show_default=True, help="Days of the fleet."
)
@click.option(
    "--per-day",
    type=click.IntRange(200, 100_000),
    default=1_000,
    show_default=True,
    help="Attempts a day.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same fleet."
)
def command(keep: Path | None, days: int, per_day: int, seed: int) -> None:
    """Simulate a fleet, import it, train, publish, and rank a job over HTTP on 127.0.0.1.

    Example: leap demo --keep ./leap-demo
    """
    from cli.demo import run

    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise click.ClickException(f"{keep} must be an empty folder, or absent")
    folder = keep or Path(tempfile.mkdtemp(prefix="leap-demo-"))
    try:
        run(folder, days=days, per_day=per_day, seed=seed)
    except BaseException:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    out.print(f"\neverything lies in {folder}; remove it when you have seen enough")
