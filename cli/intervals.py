"""How well prediction intervals held, as a person reads it."""

from collections.abc import Mapping
from typing import Any

from cli.console import percent, print_table

_COLUMNS = ("", "attempts", "within", "high ÷ low")


def print_intervals(found: Mapping[str, Any] | None) -> None:
    """What `coverage` told, where the model has intervals, and nothing else."""
    if found is None or not found["attempts"]:
        return
    rows = [_row("all", found)]
    rows += [_row(name, part) for name, part in found["by_group"].items()]
    decades = sorted(found["by_decade"].items(), key=lambda item: int(item[0].removeprefix("1e")))
    rows += [_row(f"{name} or more", part) for name, part in decades]
    print_table("Attempts within their intervals, where 80 % should be", _COLUMNS, rows)


def _row(name: str, part: Mapping[str, Any]) -> tuple[str, ...]:
    width = "–" if part["width"] is None else f"{part['width']:,.2f}"
    return (name, f"{part['attempts']:,}", percent(part["within"]), width)
