"""leap pointer: what a stage serves."""

import click

from cli import options
from cli.console import as_json, out, print_json
from leap_model.errors import ModelUnavailableError
from leap_model.pointer import read_pointer
from leap_model.store import LocalStore


@click.group("pointer")
def command() -> None:
    """See which version a stage serves."""


@command.command("show")
@options.store
@options.stage
@options.target
@as_json
def show(store: LocalStore, stage: str, target: str, as_json: bool) -> None:
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
