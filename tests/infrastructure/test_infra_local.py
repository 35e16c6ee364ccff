"""The template for a local AWS is the deployed one, but for what infra/local.py lists."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.app import make_app
from infra.local import DIFFERENCES
from infra.machine import DEPLOYED, Machine, this_machine
from infra.settings import Settings
from infra.stack import LeapStack
from tests.infrastructure.templates import NO_BUNDLES, Template, leaves, synthesised

OTHER = Machine("3.11", "x86_64")
"""Differs from what is deployed in all that may differ."""


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The template for such a machine."""
    folder = tmp_path_factory.mktemp("local")
    app = make_app(NO_BUNDLES, outdir=str(folder))
    LeapStack(app, Settings("dev", OTHER))
    app.synth()
    body: dict[str, Any] = json.loads((folder / "leap-dev.template.json").read_text())
    return body


def test_nothing_but_the_listed_properties_differs(dev: Template, local: dict[str, Any]) -> None:
    assert dev.body["Resources"].keys() == local["Resources"].keys()
    found = set()
    for name, resource in dev.body["Resources"].items():
        for path in differing(resource, local["Resources"][name]):
            if not path.startswith("Metadata."):  # where CDK found an asset, for people
                found.add((resource["Type"], _plain(path, resource)))
    assert found == DIFFERENCES
    for part in dev.body.keys() - {"Resources"}:
        assert dev.body[part] == local[part]


def differing(one: Any, other: Any) -> list[str]:
    """Paths at which two values have not the same leaf."""
    left, right = dict(leaves(one)), dict(leaves(other))
    return [path for path in left.keys() | right.keys() if left.get(path) != right.get(path)]


def _plain(path: str, resource: dict[str, Any]) -> str:
    """A path without places in lists; a variable of a container by its name."""
    path = path.removeprefix("Properties.")
    variable = re.match(r"(ContainerDefinitions)\[(\d+)\]\.Environment\[(\d+)\]", path)
    if variable:
        container = resource["Properties"]["ContainerDefinitions"][int(variable[2])]
        return f"{variable[1]}.Environment.{container['Environment'][int(variable[3])]['Name']}"
    return re.sub(r"\[\d+\]", "", path).partition(".Fn::")[0]


def test_the_context_says_which_it_is(tmp_path: Path) -> None:
    template = synthesised(tmp_path, local="true")
    here = this_machine()
    for function in template.resources("AWS::Lambda::Function").values():
        assert function["Properties"]["Runtime"] == f"python{here.python}"
        arm = here.processor == "aarch64"
        assert function["Properties"]["Architectures"] == ["arm64" if arm else "x86_64"]


def test_what_is_deployed_is_the_same_on_every_machine(dev: Template) -> None:
    assert Machine("3.13", "aarch64") == DEPLOYED
    assert DEPLOYED.wheels == "aarch64-manylinux_2_28"
    for function in dev.resources("AWS::Lambda::Function").values():
        assert function["Properties"]["Runtime"] == "python3.13"


def test_a_machine_without_linux_takes_its_own_wheels() -> None:
    assert Machine("3.12", "aarch64", linux=False).wheels is None
    assert this_machine().python.startswith("3.")
