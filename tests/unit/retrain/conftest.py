"""A store of ten days, and estimators of a size for tests."""

from typing import Any

import pytest

from functions.retrain import comparators
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.leaks import ESTIMATORS


@pytest.fixture(scope="module")
def attempts() -> list[dict[str, Any]]:
    return fleet(320)


@pytest.fixture
def full(store: LocalStore, attempts: list[dict[str, Any]]) -> LocalStore:
    return filled(store.root, attempts)


@pytest.fixture
def small_estimators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimators of every kind, of a size for tests."""
    monkeypatch.setattr(comparators, "ESTIMATORS", ESTIMATORS)
