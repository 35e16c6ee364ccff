"""leap import: attempts from files into the store."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli import options
from cli.console import as_json, bar, out, print_json
from leap_model.errors import LeapError
from leap_model.store import LocalStore, Store

if TYPE_CHECKING:
    from leap_model.intake import Record

_BATCH = 100_000
"""Records whose attempts are held at a time."""
_STEP = 1_000
"""Records between two movements of the bar."""


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
    from leap_model.intake import Counts, take_in
    from leap_model.stored_catalogue import keep_catalogue
    from leap_model.times import now_us

    types = keep_catalogue(store, catalogue.read_bytes(), catalogue.name) if catalogue else None
    if isinstance(store, LocalStore):
        store.root.mkdir(parents=True, exist_ok=True)
    counts, faults = Counts(), list[LeapError]()
    with bar("importing", None) as advance:
        records = _records(files, advance, faults)
        before = -1
        while before < counts.read:
            before = counts.read
            take_in(store, islice(records, _BATCH), counts, now_us())
    if faults:  # what was read before a file broke is stored all the same
        raise faults[0]
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


def _records(
    files: Iterable[Path], advance: Callable[[int], None], faults: list[LeapError]
) -> Iterator["Record"]:
    """The records of some files, up to the first that is broken; what is wrong with it is added."""
    from cli.readers import UnreadableFileError, read_records

    try:
        for at, record in enumerate(chain.from_iterable(map(read_records, files)), 1):
            if at % _STEP == 0:
                advance(_STEP)
            yield record
    except UnreadableFileError as fault:
        faults.append(fault)
