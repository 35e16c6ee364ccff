"""leap merge: many small attempt files become few."""

from dataclasses import asdict
from datetime import date

import click

from cli import options
from cli.console import as_json, out, print_json, spinner
from leap_model.store import Store


@click.command("merge")
@options.store
@click.option(
    "--before",
    type=options.DATE,
    help="Days from this one on are left alone. Default: today, in UTC.",
)
@click.option(
    "--least",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Files of a day that are not merged yet, below which it is left alone.",
)
@as_json
def command(store: Store, before: date | None, least: int, as_json: bool) -> None:
    """Merge the small attempt files of the store's days. A deployed stage does so every night.

    No attempt is lost or counted twice, whatever is written or read meanwhile. Files that LEAP did
    not write stay as they are. In a bucket what was merged goes a week later.

    Example: leap merge --store ./store
    """
    from leap_model.merging import merge

    with spinner("merging") as watch:
        done = merge(store, before or options.today(), least, watch)
    if as_json:
        print_json(asdict(done))
    elif done.days:
        days = f"{done.days:,} day{'s' if done.days != 1 else ''}"
        out.print(f"merged {done.files:,} files of {days} into {done.into:,}")
    else:
        out.print(f"nothing to merge: no day has {least:,} files that are not merged")
