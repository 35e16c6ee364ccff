"""leap publish: attempts from files onto an event bus."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.console import as_json, bar, out, print_json, printable

if TYPE_CHECKING:
    from leap_model.intake import Record


@click.command("publish")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--bus", required=True, help="Name or ARN of the stage's bus, such as leap-prod.")
@as_json
def command(files: tuple[Path, ...], bus: str, as_json: bool) -> None:
    """Send the attempts of FILES (JSON Lines, CSV or Parquet, also gzipped) to a deployed stage.

    Ten events a call, each at most 1,000,000 bytes (EventBridge and SQS take 1 MiB with the
    envelope). Credentials and region are those of the AWS SDK. Events that are refused for the
    moment are sent again; the exit code is 1 where one could not be sent, and each of those is
    named. The same attempt again counts once, so that after a failure all of it may be sent anew.

    Example: leap publish attempts.jsonl.gz --bus leap-prod
    """
    from cli.bus import Bus, Published

    published = Published()
    place = Bus(bus)
    place.must_exist()
    try:
        with bar("publishing", None) as advance:
            place.publish(named_records(files), published, advance)
    finally:  # also where a call failed: what was refused before it is not on the bus either
        for failure in published.failures:
            click.echo(f"not sent: {printable(str(failure))}", err=True)
    if as_json:
        print_json(published.to_json())
    else:
        out.print(f"read {published.read:,}: sent {published.sent:,}")
    if published.failures:
        click.echo(f"Error: {len(published.failures):,} attempts were not sent", err=True)
        sys.exit(1)


def named_records(files: tuple[Path, ...]) -> Iterator[tuple[str, "Record"]]:
    """The files' records, each with what a person finds it by."""
    from cli.readers import read_records
    from leap_model.json_text import read_exactly

    for file in files:
        for number, record in enumerate(read_records(file, read_exactly), start=1):
            yield f"record {number:,} of {file.name}", record
