"""python -m bench.second_fleet OUT --days N --per-day N --seed S: write the second fleet."""

from pathlib import Path

import click

from bench.second_fleet import write_fleet
from cli.commands.simulate import print_marks
from cli.console import bar


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--days", type=click.IntRange(1), required=True, help="Days of the fleet.")
@click.option("--per-day", type=click.IntRange(1), required=True, help="Attempts a day.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same fleet.")
def main(out: Path, days: int, per_day: int, seed: int) -> None:
    """Write a fleet of another make to OUT, and print its marks."""
    with bar("simulating", days * per_day) as advance:
        try:
            marks = write_fleet(
                out, days=days, per_day=per_day, seed=seed, progress=lambda _: advance(per_day)
            )
        except ValueError as fault:
            raise click.ClickException(str(fault)) from None
    print_marks(marks)


if __name__ == "__main__":
    main()
