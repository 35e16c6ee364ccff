"""Files that commands read."""

import json
from pathlib import Path

import pytest

from tests.support import CATALOGUE, request


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """The small fleet's hardware catalogue as a file."""
    path = tmp_path / "hardware.json"
    path.write_text(json.dumps(CATALOGUE))
    return path


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    """A valid ranking request as a file."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request()))
    return path
