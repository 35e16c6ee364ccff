"""Nothing that was started outlives who started it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.local_aws import guard
from cli.local_aws.process import Process
from tests.unit.local_aws.processes import eventually, is_alive, number_in

STUBBORN = "trap '' TERM; echo $$ > number; while true; do sleep 0.05; done"
HURRIED = """
import sys
from cli.local_aws import guard
guard.GRACE_S = 0.2
sys.exit(guard.main("", "sh", "-c", sys.argv[1]))
"""
PARENT = """
import signal, sys, time
from pathlib import Path
from cli.local_aws.process import Process
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
place = Path(sys.argv[1])
shell = "sleep 600 & echo $! > grandchild; echo $$ > child; sleep 600"
Process(["sh", "-c", shell], {"PATH": "/usr/bin:/bin"}, place / "log", place / "run", place / "run")
time.sleep(600)
"""


def _shell(script: str, place: Path, **options: Path) -> Process:
    return Process(["sh", "-c", script], {**os.environ}, place / "log", place, **options)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_parent_that_is_killed_leaves_no_process_and_no_folder(
    number: int, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])
    child, grandchild = number_in(run / "child"), number_in(run / "grandchild")
    assert is_alive(child)
    assert is_alive(grandchild)
    parent.send_signal(number)
    parent.wait()
    assert eventually(lambda: not is_alive(child) and not is_alive(grandchild))
    assert eventually(lambda: not run.exists())


def test_stopping_ends_all_that_a_command_started(tmp_path: Path) -> None:
    with _shell("sleep 600 & echo $! > grandchild; sleep 600", tmp_path):
        grandchild = number_in(tmp_path / "grandchild")
        assert is_alive(grandchild)
    assert not is_alive(grandchild)


def test_an_exception_in_the_block_stops_it_too(tmp_path: Path) -> None:
    number = tmp_path / "number"
    with pytest.raises(KeyboardInterrupt), _shell("echo $$ > number; sleep 600", tmp_path):
        raise KeyboardInterrupt(number_in(number))
    assert not is_alive(number_in(number))


def test_what_a_command_leaves_behind_is_ended_when_it_ends(tmp_path: Path) -> None:
    with _shell("sleep 600 & echo $! > number", tmp_path) as process:
        number = number_in(tmp_path / "number")
        assert process.follow(lambda line: None) == 0
    assert eventually(lambda: not is_alive(number))


def test_a_folder_that_a_command_leaves_writers_in_is_removed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    writer = (
        "(while true; do mkdir -p run/$$/a; touch run/$$/a/x; rm -r run/$$; done) 2>/dev/null &"
    )
    with _shell(f"{writer} {writer} {writer} sleep 0.2", tmp_path, remove=run) as process:
        assert process.follow(lambda line: None) == 0
    assert not run.exists()


def test_a_command_that_will_not_end_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HURRIED, STUBBORN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=tmp_path) as guarded:
        number = number_in(tmp_path / "number")
        assert guarded.stdin is not None
        guarded.stdin.close()
        assert guarded.wait(10) == 128 + signal.SIGKILL
    assert not is_alive(number)


def test_a_guard_that_is_told_to_end_ends_its_command(tmp_path: Path) -> None:
    command = [sys.executable, guard.__file__, "", "sh", "-c", "echo $$ > number; sleep 600"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=tmp_path) as guarded:
        number = number_in(tmp_path / "number")
        guarded.terminate()
        assert guarded.wait(10) == 128 + signal.SIGTERM
    assert not is_alive(number)


def test_a_command_cannot_read_what_its_starter_types(tmp_path: Path) -> None:
    with _shell("cat; echo read", tmp_path) as process:
        assert process.follow(lambda line: None) == 0
    assert process.said() == "read"


def test_the_folder_goes_when_the_command_ends(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "deep").mkdir(parents=True)
    with _shell("true", tmp_path, remove=place) as process:
        process.follow(lambda line: None)
        assert not place.exists()
