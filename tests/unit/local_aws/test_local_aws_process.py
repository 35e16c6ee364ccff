"""What a child process says and how it ends is known to its starter."""

import os
from pathlib import Path

import pytest

from cli.local_aws.errors import LocalAwsError
from cli.local_aws.process import Process


def _shell(script: str, place: Path) -> Process:
    return Process(["sh", "-c", script], {**os.environ, "SAID": "hello"}, place / "log", place)


@pytest.mark.parametrize(("script", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_commands(script: str, code: int, tmp_path: Path) -> None:
    with _shell(script, tmp_path) as process:
        assert process.follow(lambda line: None) == code


def test_lines_are_told_while_it_runs(tmp_path: Path) -> None:
    lines: list[str] = []

    def watch(line: str) -> None:
        lines.append(line)
        (tmp_path / "go").touch()

    script = 'echo $SAID; until [ -e go ]; do sleep 0.05; done; printf "wör"; echo "ld" >&2'
    with _shell(script, tmp_path) as process:
        assert process.follow(watch) == 0
    assert lines == ["hello", "wörld"]


def test_a_log_that_is_shared_is_followed_from_where_the_command_began(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("earlier\n")
    lines: list[str] = []
    with _shell("echo now", tmp_path) as process:
        process.follow(lines.append)
    assert lines == ["now"]
    assert (tmp_path / "log").read_text() == "earlier\nnow\n"


def test_a_command_that_takes_too_long_is_ended_and_quoted(tmp_path: Path) -> None:
    with (
        _shell("echo waiting; sleep 600", tmp_path) as process,
        pytest.raises(LocalAwsError, match=r"did not end within 0.3 s:\nwaiting"),
    ):
        process.follow(lambda line: None, longest_s=0.3)
    assert process.exit_code is not None


def test_a_message_quotes_the_last_lines_only(tmp_path: Path) -> None:
    with _shell("seq 1 100", tmp_path) as process:
        process.follow(lambda line: None)
    assert process.said().splitlines()[0] == "89"
    assert process.said().splitlines()[-1] == "100"


def test_a_command_that_is_not_there_has_an_exit_code(tmp_path: Path) -> None:
    with Process(["/nowhere/cdk"], {}, tmp_path / "log") as process:
        assert process.follow(lambda line: None) != 0
    assert "/nowhere/cdk" in process.said()


def test_stopping_twice_is_stopping_once(tmp_path: Path) -> None:
    with _shell("sleep 600", tmp_path) as process:
        process.stop()
        process.stop()
    assert process.exit_code == 128 + 15
