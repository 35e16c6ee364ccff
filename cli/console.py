"""How commands speak: results on standard output, progress on standard error."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

_PIPE_WIDTH = 160

T = TypeVar("T")


class _Plain(Console):
    """Prints text as it is: what comes from a request or a store is no markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)


out = _Plain(soft_wrap=True)
err = _Plain(stderr=True)

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")


def print_json(document: Mapping[str, Any]) -> None:
    """One strict JSON document: no NaN, no colour."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table whose first column is text and whose numbers stand to the right."""
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(printable(str(cell)) for cell in row))
    console = _Plain()
    if not console.is_terminal:  # a pipe has no width: nothing is cut there
        console.width = _PIPE_WIDTH
    console.print(table)


@contextmanager
def bar(label: str, total: int | None) -> Iterator[Any]:
    """A progress bar, on a terminal only; yields a function that advances it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=err, transient=True, disable=not err.is_terminal
    ) as progress:
        task = progress.add_task(label, total=total)
        yield lambda steps=1: progress.advance(task, steps)


@contextmanager
def spinner(label: str) -> Iterator[Any]:
    """A line that says what is going on, on a terminal only; yields a function that changes it."""
    if not err.is_terminal:
        yield lambda text: None
        return
    with err.status(label) as status:
        yield lambda text: status.update(f"{label}: {text}")


def step(title: str, action: Callable[[], T]) -> T:
    """Say what happens, let it happen, and say how long it took."""
    out.print(title, style="bold")
    started = time.perf_counter()
    result = action()
    out.print(f"   {time.perf_counter() - started:.1f} s")
    return result


def printable(text: str) -> str:
    """The text with what a terminal cannot take, or would obey, spelled out."""
    spelled = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if text.isprintable() else "".join(spelled)


def percent(share: float | None) -> str:
    """A share between 0 and 1 as a person reads it."""
    return "–" if share is None else f"{share * 100:.1f} %"


def significant(value: float) -> str:
    """A number with three digits that count, never in powers of ten."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:,.3g}"
