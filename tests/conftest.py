"""Fixtures that many tests share."""

import logging
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from functions.retrain.nightly import retrain
from leap_model.store import LocalStore
from tests.network import no_other_machine
from tests.support import QUICK, filled, fleet

# The same examples every time, and none that fails because the machine is busy. To look further:
# pytest --hypothesis-profile=default
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _patient_rankings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking waits for what it looks for: on a busy machine a fraction of a second is short."""
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", 60.0)


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests reach this machine only; those of the deployed stack have an AWS of their own."""
    if request.node.get_closest_marker("e2e"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch, no_other_machine(patch):
        yield


@pytest.fixture(autouse=True)
def _logs_of_its_own() -> Iterator[None]:
    """A handler that a test's program adds goes with it, or it would print into others' output."""
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    for handler in root.handlers[:]:
        if handler not in before and not type(handler).__module__.startswith("_pytest"):
            root.removeHandler(handler)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """An empty store."""
    return LocalStore(tmp_path / "store")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """A store whose stage local points at a model of a small fleet. Read it only."""
    store = filled(tmp_path_factory.mktemp("trained"), fleet(900, days=12))
    retrain(store, "local", date(2026, 1, 13), QUICK)
    return store


@pytest.fixture(scope="session")
def measured() -> Path:
    """The folder of real measured throughput; skips where it is absent."""
    if not (SHARED / "training.jsonl.gz").exists():
        pytest.skip("the shared measured throughput is not here")
    return SHARED
