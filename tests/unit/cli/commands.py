"""Runs commands as a person would, and reads what they print."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from cli.main import leap
from leap_model.store import LocalStore

PROD = ("--stage", "prod")


def run(*arguments: object, text: str | bytes | None = None) -> Result:
    """One command; arguments may be paths and numbers."""
    return CliRunner().invoke(leap, [str(argument) for argument in arguments], input=text)


def succeeded(*arguments: object, text: str | bytes | None = None) -> str:
    """The standard output of a command that must succeed."""
    result = run(*arguments, text=text)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def document(*arguments: object, text: str | bytes | None = None) -> Any:
    """The one strict JSON document that a command with --json prints."""
    return strict(succeeded(*arguments, "--json", text=text))


def strict(output: str) -> Any:
    """Parse JSON that holds no NaN and nothing after it."""

    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(output, parse_constant=refuse)


def refused(*arguments: object, text: str | bytes | None = None) -> str:
    """The one line of a command that must fail cleanly: nothing on stdout, no traceback."""
    result = run(*arguments, text=text)
    assert result.exit_code != 0, result.output
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    assert result.stderr.rstrip().splitlines()[-1] == lines[0]
    return lines[0]


def history(store: LocalStore, *options: object) -> Any:
    """The moves of the stage prod, as the command tells them."""
    return document("pointer", "history", "--store", store, *PROD, *options)


def process(*arguments: object, text: str | bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """One command in a process of its own, with real streams."""
    content = text.encode() if isinstance(text, str) else text
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *map(str, arguments)],
        input=content,
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def json_lines(path: Path, attempts: list[dict[str, Any]]) -> Path:
    """Attempts as a JSON Lines file."""
    path.write_text("".join(json.dumps(entry) + "\n" for entry in attempts), encoding="utf-8")
    return path


def flat(attempt: dict[str, Any]) -> dict[str, Any]:
    """An attempt as a row: config.lr, architecture.params_m."""
    row: dict[str, Any] = {}
    for name, value in attempt.items():
        if isinstance(value, dict):
            row |= {f"{name}.{entry}": inner for entry, inner in value.items()}
        else:
            row[name] = value
    return row
