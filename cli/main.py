"""The `leap` command: its sub-commands, and the one place that turns errors into a line."""

import importlib
import sys
from typing import Any

import click

from leap_model.errors import LeapError

_COMMANDS = {
    "demo": "cli.commands.demo",
    "simulate": "cli.commands.simulate",
    "import": "cli.commands.import_",
    "publish": "cli.commands.publish",
    "retrain": "cli.commands.retrain",
    "rank": "cli.commands.rank",
    "backtest": "cli.commands.backtest",
    "merge": "cli.commands.merge",
    "view": "cli.commands.view",
    "pointer": "cli.commands.pointer",
    "switches": "cli.commands.switches",
    "doctor": "cli.commands.doctor",
}


class _Lazy(click.Group):
    """Loads a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name]).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (LeapError, OSError) as fault:
            raise click.ClickException(str(fault)) from None


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="leap")
def leap() -> None:
    """Rank accelerator types for a training job by predicted work per dollar."""


def main() -> None:
    """Entry point of the console command."""
    # Colour and progress belong to a terminal; a pipe gets plain lines.
    leap(prog_name="leap", windows_expand_args=False)
    sys.exit(0)


if __name__ == "__main__":
    main()
