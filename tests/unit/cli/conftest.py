"""Files that commands read, and a stage of three nights."""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.nightly import retrain
from leap_model.store import LocalStore
from tests.support import CATALOGUE, filled, fleet, request
from tests.unit.retrain.nights import TINY


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


@pytest.fixture(scope="module")
def attempts() -> list[dict[str, Any]]:
    return fleet(320)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, attempts: list[dict[str, Any]]) -> Path:
    """A store whose stage prod had three nights."""
    store = filled(tmp_path_factory.mktemp("nights"), attempts)
    for day in (11, 12, 13):
        retrain(store, "prod", date(2026, 1, day), TINY)
    return store.root


@pytest.fixture
def full(template: Path, tmp_path: Path) -> LocalStore:
    """A copy of that store to move in."""
    return LocalStore(shutil.copytree(template, tmp_path / "copy"))


@pytest.fixture
def versions(full: LocalStore) -> tuple[str, ...]:
    """The versions of the three nights, in their order."""
    return tuple(sorted({key.split("/")[2] for key in full.keys("models/throughput")}))
