"""A store of ten days, and estimators of a size for tests."""

from dataclasses import replace
from typing import Any

import pytest

from functions.retrain import comparators
from functions.retrain.ladder import LADDER
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.single import Single
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
    rungs = {name: replace(rung, estimator=ESTIMATORS["plain"]) for name, rung in LADDER.items()}
    monkeypatch.setattr(comparators, "LADDER", rungs)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[TrainingSet]:
    """Whatever an estimator without bins is fitted on."""
    seen: list[TrainingSet] = []
    fit = Single.fit

    def watched(own: Single, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        seen.append(rows)
        return fit(own, rows, seed, processes)

    monkeypatch.setattr(Single, "fit", watched)
    return seen
