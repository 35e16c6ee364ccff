"""The CDK's command line is told all that it needs, and nothing of a person's own account."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.local_aws import deploy
from cli.local_aws.deploy import Deployment
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.server import LocalAws

AWS = LocalAws("https://127.0.0.1:40001", Path("/tmp/certificate.pem"), "secret")
FAKE = """#!{python}
import json, os, sys
with open({told!r}, "a") as told:
    told.write(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]) + chr(10))
print("leap-demo | 1/2 | CREATE_COMPLETE")
if "--outputs-file" in sys.argv:
    path = sys.argv[sys.argv.index("--outputs-file") + 1]
    open(path, "w").write(json.dumps({{"leap-demo": {{"BusName": "leap-demo"}}}}))
{last}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose cdk writes down how it was called."""
    (tmp_path / "cdk.json").write_text("{}")
    monkeypatch.setattr(deploy, "CHECKOUT", tmp_path)
    monkeypatch.setattr(deploy, "CDK", tmp_path / "cdk")
    _fake(tmp_path)
    return tmp_path


def _fake(checkout: Path, last: str = "") -> None:
    told = str(checkout / "told.jsonl")
    program = FAKE.format(python=sys.executable, told=told, last=last)
    (checkout / "cdk").write_text(program)
    (checkout / "cdk").chmod(0o755)


def _calls(checkout: Path) -> list[tuple[list[str], dict[str, str], str]]:
    lines = (checkout / "told.jsonl").read_text().splitlines()
    documents: list[Any] = [json.loads(line) for line in lines]
    return [(arguments, environment, place) for arguments, environment, place in documents]


def _deployment(checkout: Path) -> Deployment:
    folder = checkout / "run"
    folder.mkdir()
    return Deployment(AWS, "demo", folder)


def _quiet(line: str) -> None:
    pass


def test_a_whole_life_is_five_words_of_cdk(checkout: Path) -> None:
    stack = _deployment(checkout)
    stack.synthesise(_quiet)
    stack.bootstrap(_quiet)
    stack.deploy(_quiet)
    stack.destroy(_quiet)
    calls = [arguments for arguments, _, _ in _calls(checkout)]
    assert [call[0] for call in calls] == ["synth", "bootstrap", "deploy", "destroy"]
    synth, bootstrap, deployed, destroyed = (" ".join(call) for call in calls)
    assert "--context local=true --context stage=demo" in synth
    assert "aws://000000000000/us-east-1" in bootstrap
    assembly = str(checkout / "run" / "cdk.out")
    assert f"--output {assembly}" in synth
    for call in (bootstrap, deployed, destroyed):  # what was synthesised, and not anew
        assert f"--app {assembly}" in call
    assert "--require-approval never" in deployed
    assert "--force" in destroyed


def test_it_runs_in_the_checkout_against_the_local_aws(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "prod")
    _deployment(checkout).synthesise(_quiet)
    ((_, environment, place),) = _calls(checkout)
    assert place == str(checkout)
    assert environment["AWS_ENDPOINT_URL"] == AWS.endpoint
    assert environment["NODE_EXTRA_CA_CERTS"] == str(AWS.certificate)
    assert environment["AWS_ACCESS_KEY_ID"] == "000000000000"
    assert "AWS_PROFILE" not in environment


def test_outputs_are_those_of_the_stack(checkout: Path) -> None:
    assert _deployment(checkout).deploy(_quiet) == {"BusName": "leap-demo"}


def test_progress_is_told(checkout: Path) -> None:
    lines: list[str] = []
    _deployment(checkout).deploy(lines.append)
    assert lines == ["leap-demo | 1/2 | CREATE_COMPLETE"]


def test_a_failure_quotes_what_cdk_said(checkout: Path) -> None:
    _fake(checkout, last='sys.exit("no such resource type")')
    with pytest.raises(LocalAwsError, match=r"(?s)cdk synth failed:.*no such resource type"):
        _deployment(checkout).synthesise(_quiet)


def test_without_cdk_the_error_says_what_to_do(checkout: Path) -> None:
    (checkout / "cdk").unlink()
    with pytest.raises(LocalAwsError, match="make demo"):
        _deployment(checkout)
