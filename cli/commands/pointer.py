"""leap pointer: what a stage serves, what it served, and back."""

from typing import Any

import click

from cli import options
from cli.console import as_json, out, print_json, print_table
from cli.following import follow
from leap_model.errors import ModelUnavailableError
from leap_model.moves import NEWEST, Move, read_moves, roll_back, withdrawn
from leap_model.pointer import read_pointer
from leap_model.store import Store


@click.group("pointer")
def command() -> None:
    """See which version a stage serves, and go back to an earlier one."""


@command.command("show")
@options.store
@options.stage
@options.target
@as_json
def show(store: Store, stage: str, target: str, as_json: bool) -> None:
    """The version that the stage points at.

    Example: leap pointer show --store ./store
    """
    pointer, _ = read_pointer(store, stage, target)
    if pointer is None:
        raise ModelUnavailableError(f"the stage {stage} points at no model")
    if as_json:
        print_json(pointer.to_json())
        return
    for name, value in pointer.to_json().items():
        out.print(f"{name:<16} {value}")


@command.command("history")
@options.store
@options.stage
@options.target
@click.option(
    "--newest", type=click.IntRange(1), default=20, show_default=True, help="Moves to show."
)
@as_json
def history(store: Store, stage: str, target: str, newest: int, as_json: bool) -> None:
    """The stage's moves, the newest last.

    Example: leap pointer history --store ./store
    """
    moves = read_moves(store, stage, target, max(newest, NEWEST))
    pointer, _ = read_pointer(store, stage, target)
    serving = None if pointer is None else pointer.version
    gone = withdrawn(moves)
    if as_json:
        shown = [move.to_json() for move in moves[-newest:]]
        print_json({"serving": serving, "withdrawn": sorted(gone), "moves": shown})
        return
    if not moves:
        out.print(f"the stage {stage} has no moves on record")
        return
    columns = ("moved at", "move", "version", "as of", "in the place of")
    print_table(f"Moves of {stage}", columns, [_row(move) for move in moves[-newest:]])
    for version in sorted(gone):
        out.print(f"rolled back from {version}")
    out.print(f"serving {serving}" if serving else "serving nothing")


@command.command("rollback")
@options.store
@options.stage
@options.target
@click.option(
    "--to", "version", help="A version of the stage's history; a later one rolls forward."
)
@as_json
def rollback(store: Store, stage: str, target: str, version: str | None, as_json: bool) -> None:
    """Serve the version that served before, at once: no retraining, no deployment.

    Nightly runs go on, and a newer night's model takes over when it passes its gate; the version
    that was rolled back from is not pointed at again unless by --to or by retrain --force.

    Example: leap pointer rollback --store ./store --stage prod
    """
    move = roll_back(store, stage, target, version)
    follow(store, stage, target)
    if as_json:
        print_json(move.to_json())
        return
    pointer, before = move.pointer, move.replaced
    out.print(f"stage {stage} serves {pointer.version} of {pointer.as_of}")
    if before is not None:
        out.print(f"in the place of {before.version} of {before.as_of}")


def _row(move: Move) -> tuple[Any, ...]:
    pointer = move.pointer
    return (
        move.moved_at,
        move.action,
        pointer.version,
        pointer.as_of,
        move.replaced.version if move.replaced else "–",
    )
