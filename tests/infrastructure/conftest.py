"""Templates, each made once. They are of no bundles: those are made where they are tested."""

import os
import subprocess
import sys
from pathlib import Path

# CDK's own validation of templates takes ten seconds each; one test asks for it (test_infra_app).
os.environ.setdefault("CDK_VALIDATION", "false")
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

import pytest

from tests.infrastructure.templates import Template, synthesised


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """What is deployed where nothing is said."""
    return synthesised(tmp_path_factory.mktemp("dev"))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage whose data outlives its stack."""
    return synthesised(tmp_path_factory.mktemp("prod"), stage="prod")


@pytest.fixture(scope="session", params=["dev", "prod"])
def template(request: pytest.FixtureRequest, dev: Template, prod: Template) -> Template:
    """Both."""
    return {"dev": dev, "prod": prod}[request.param]


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for bundles, each built once."""
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bundles are made of wheels that uv fetches; skips where it reaches no package index."""
    uv = Path(sys.executable).with_name("uv")
    target = tmp_path_factory.mktemp("wheels")
    asked = [
        str(uv),
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--target",
        str(target),
        "jmespath",
    ]
    if subprocess.run(asked, capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("uv reaches no package index: bundles cannot be built here")
