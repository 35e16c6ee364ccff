"""leap import: attempts from files into the store."""

from pathlib import Path

import click

from cli import options
from cli.console import as_json, bar, out, print_json
from leap_model.store import LocalStore, Store

_BATCH = 100_000
"""Records held at a time."""


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@options.new_store
@click.option(
    "--catalogue",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Hardware catalogue (JSON or CSV) to keep in the store.",
)
@as_json
def command(files: tuple[Path, ...], store: Store, catalogue: Path | None, as_json: bool) -> None:
    """Put the attempts of FILES (JSON Lines, CSV or Parquet, also gzipped) into the store.

    Records that break a rule are kept under rejected/ with the reason. The same attempt again
    counts once.

    Example: leap import attempts.jsonl.gz --store ./store --catalogue hardware.csv
    """
    from cli.readers import read_records
    from leap_model.intake import Counts, Record, take_in
    from leap_model.stored_catalogue import keep_catalogue
    from leap_model.times import now_us

    types = keep_catalogue(store, catalogue.read_bytes(), catalogue.name) if catalogue else None
    if isinstance(store, LocalStore):
        store.root.mkdir(parents=True, exist_ok=True)
    counts = Counts()
    batch: list[Record] = []
    with bar("importing", None) as advance:
        try:
            for file in files:
                for record in read_records(file):
                    advance()
                    batch.append(record)
                    if len(batch) == _BATCH:
                        take_in(store, batch, counts, now_us())
                        batch = []
        finally:  # what was read before a file broke is stored all the same
            take_in(store, batch, counts, now_us())
    if as_json:
        print_json(counts.to_json())
        return
    if types is not None:
        out.print(f"catalogue: {types:,} hardware types")
    out.print(
        f"read {counts.read:,}: stored {counts.stored:,}, duplicates {counts.duplicates:,}, "
        f"rejected {counts.rejected:,}"
    )
    for reason, count in counts.rejected_reasons.most_common():
        out.print(f"  {count:,} × {reason}")
    if counts.dropped_values:
        out.print(f"left out {counts.dropped_values:,} nested values of config and allocation")
