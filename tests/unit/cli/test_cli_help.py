"""Every command and option explains itself, and has a test."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import leap
from tests.unit.cli.commands import run, succeeded


def _walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _walk(inner, (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(_walk(leap, ()))
every = pytest.mark.parametrize("name", COMMANDS)


def test_the_commands_of_the_contract_are_there() -> None:
    expected = {"demo", "simulate", "import", "retrain", "rank", "backtest", "pointer show"}
    assert set(COMMANDS) >= expected


@every
def test_a_command_has_help_with_an_example(name: str) -> None:
    text = " ".join(succeeded(*name.split(), "--help").split())
    assert f"Example: leap {name}" in text
    assert succeeded(*name.split(), "-h")


@every
def test_an_example_names_only_options_that_exist(name: str) -> None:
    command = COMMANDS[name]
    known = {option for parameter in command.params for option in parameter.opts}
    example = (command.help or "").partition("Example:")[2]
    assert {word for word in example.split() if word.startswith("--")} <= known


@every
def test_every_option_has_help(name: str) -> None:
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), f"{name} {parameter.opts[0]} has no help"


@every
def test_a_command_that_reports_has_json(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert "--json" in options or name == "demo"


@every
def test_a_command_has_a_test(name: str) -> None:
    folders = (Path(__file__).parent, Path(__file__).parents[2] / "integration")
    first = name.split()[0]
    sources = [
        path.read_text()
        for folder in folders
        for path in folder.glob("test_*.py")
        if path.name != Path(__file__).name
    ]
    assert any(f'"{first}"' in source for source in sources)


def test_the_command_lists_its_commands() -> None:
    text = succeeded("--help")
    for name in COMMANDS:
        assert name.split()[0] in text


def test_the_command_tells_its_version() -> None:
    assert "0.1.0" in succeeded("--version")


@pytest.mark.parametrize("arguments", [["nonsense"], ["rank", "--nonsense"], ["pointer", "x"]])
def test_unknown_commands_and_options_are_refused(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error: No such" in result.stderr
