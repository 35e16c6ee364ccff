"""leap simulate: a synthetic fleet."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli import options
from cli.console import as_json, bar, out, percent, print_json, print_table, significant
from leap_model.errors import LeapError

if TYPE_CHECKING:
    from cli.simulation.marks import Mark


class SimulationError(LeapError):
    """The fleet cannot be written as asked."""


@click.command("simulate")
@click.argument("out_folder", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--days", type=click.IntRange(1, 3_650), required=True, help="Days of the fleet.")
@click.option("--per-day", type=click.IntRange(1, 1_000_000), required=True, help="Attempts a day.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same fleet.")
@click.option(
    "--start", type=options.DATE, default="2026-01-01", show_default=True, help="First day."
)
@as_json
def command(
    out_folder: Path, days: int, per_day: int, seed: int, start: date, as_json: bool
) -> None:
    """Write a synthetic fleet to OUT: attempts a file a day, hardware.json, and the truth.

    The truth is each attempt's throughput on every type without noise; nothing trains on it.

    Example: leap simulate ./fleet --days 20 --per-day 5000 --seed 1
    """
    from cli.simulation import simulate

    with bar("simulating", days * per_day) as advance:
        done = 0

        def progress(written: int) -> None:
            nonlocal done
            advance(written - done)
            done = written

        try:
            fleet = simulate(
                out_folder, days=days, per_day=per_day, seed=seed, start=start, progress=progress
            )
        except ValueError as fault:
            raise SimulationError(str(fault)) from None
    summary = {
        "attempts": fleet.attempts,
        "days": fleet.days,
        "model_types": fleet.model_types,
        "hardware_types": fleet.hardware_types,
        "families": fleet.families,
        "files": [str(path) for path in fleet.files],
        "catalogue": str(fleet.catalogue),
        "truth": str(fleet.truth),
        "marks": [asdict(mark) for mark in fleet.marks],
    }
    if as_json:
        print_json(summary)
        return
    out.print(
        f"{fleet.attempts:,} attempts of {fleet.families:,} families and {fleet.model_types:,} "
        f"model types on {fleet.hardware_types:,} hardware types over {fleet.days:,} days"
    )
    out.print(f"attempts  {out_folder / 'attempts'}")
    out.print(f"catalogue {fleet.catalogue}")
    out.print(f"truth     {fleet.truth}")
    print_marks(fleet.marks)


def print_marks(marks: Iterable["Mark"]) -> None:
    """The marks of a fleet beside the published ones."""
    rows = [(mark.name, _figure(mark.published), _figure(mark.fleet)) for mark in marks]
    print_table("Marks", ("mark", "published", "this fleet"), rows)


def _figure(figure: float | tuple[float, float] | None) -> str:
    if figure is None:
        return "–"
    ends = figure if isinstance(figure, tuple) else (figure,)
    return " to ".join(percent(end) if end < 1 else significant(end) for end in ends)
