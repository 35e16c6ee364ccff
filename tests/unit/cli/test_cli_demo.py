"""leap demo, as far as it goes without running for minutes."""

from pathlib import Path

import pytest

from cli.local_aws import server
from tests.unit.cli.commands import refused, run


@pytest.mark.parametrize("on_aws", [(), ("--aws",)])
def test_a_folder_that_holds_something_is_left_alone(
    on_aws: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "mine").touch()
    error = refused("demo", *on_aws, "--keep", tmp_path)
    assert error == f"Error: {tmp_path} must be an empty folder, or absent"


def test_without_the_local_aws_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(server, "INTERPRETER", tmp_path / "absent")
    result = run("demo", "--aws")
    assert result.exit_code == 1
    assert (
        result.stderr == f"Error: {tmp_path}/absent is not there: run make demo, which sets it up\n"
    )
    assert list(temporary.iterdir()) == []
