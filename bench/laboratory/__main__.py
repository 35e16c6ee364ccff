"""python -m bench.laboratory: tables of methods, and what is lost on what training never saw."""

import sys

from bench.laboratory.commands import laboratory
from bench.laboratory.measured_command import measured
from cli.console import err
from leap_model.errors import LeapError


def main() -> int:
    """Run the command line; 1 with one line where a store or a method cannot be had."""
    laboratory.add_command(measured)
    try:
        laboratory()
    except LeapError as fault:
        err.print(f"Error: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
