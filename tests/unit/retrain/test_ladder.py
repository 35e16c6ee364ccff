"""The ladder: each rung sees the sources of the one before it and one more."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from functions.retrain import comparators
from functions.retrain.backtest import Plan, backtest
from functions.retrain.ladder import LADDER
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.single import Single
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import FEW

QUICK = Single(name="plain", scaled=False, trees=3, leaves=5, learning_rate=0.5)
OPEN = {"allocation": {"zone": "a"}, "architecture": {"params_m": 25.0, "gmacs": 4.0}}
ARCHITECTURE_RATIOS = {
    *("ratio.work_gmacs", "ratio.compute_bound", "ratio.roofline", "ratio.state_share_of_memory"),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    rungs = {name: replace(rung, estimator=QUICK) for name, rung in LADDER.items()}
    monkeypatch.setattr(comparators, "LADDER", rungs)
    monkeypatch.setattr(comparators, "ESTIMATORS", {"plain": replace(QUICK, trees=4)})


def _climbed(store: LocalStore, fits: list[TrainingSet]) -> Iterator[tuple[str, TrainingSet]]:
    filled(store.root, fleet(240))
    names = ("plain-job", "plain-history", "plain-ratios", "plain", "plain-deep")
    backtest(store, FEW, Plan(1, date(2026, 1, 9), compare=names))
    return zip(("own", *names), fits, strict=True)


def test_each_rung_has_the_columns_of_the_one_before_and_one_source_more(
    store: LocalStore, fits: list[TrainingSet]
) -> None:
    seen = {name: set(rows.schema.names) for name, rows in _climbed(store, fits)}
    rungs = [seen[name] for name in ("plain-job", "plain-history", "plain-ratios", "plain")]
    added = [
        {name.partition(".")[0] for name in after - before} for before, after in pairwise(rungs)
    ]
    assert all(before < after for before, after in pairwise(rungs))
    assert added == [{"history"}, {"ratio"}, {"architecture", "ratio"}]
    assert {name.partition(".")[0] for name in rungs[0]} <= {
        *("job", "config", "config_text", "allocation", "allocation_text", "hardware"),
    }
    assert seen["plain"] == seen["plain-deep"] == seen["own"]
    assert seen["plain"] >= ARCHITECTURE_RATIOS
    assert not seen["plain-ratios"] & ARCHITECTURE_RATIOS


def test_every_rung_learns_from_the_same_rows(store: LocalStore, fits: list[TrainingSet]) -> None:
    (_, own), *rungs = _climbed(store, fits)
    for _, rows in rungs:
        np.testing.assert_array_equal(rows.values, own.values)
        for at, name in enumerate(rows.schema.names):
            theirs = own.matrix[:, own.schema.names.index(name)]
            if not name.startswith("ratio."):
                np.testing.assert_array_equal(rows.matrix[:, at], theirs)


def test_a_rung_is_not_told_of_an_architecture_when_it_predicts(store: LocalStore) -> None:
    """What it says of a job does not depend on what it must do without."""
    runs = fleet(240)

    def judged(name: str, root: LocalStore, changes: dict[str, Any]) -> Any:
        night = [run | changes if run["completed_at"] >= "2026-01-09" else run for run in runs]
        filled(root.root, night)
        result = backtest(root, FEW, Plan(1, date(2026, 1, 9), compare=(name,)))
        return result["comparators"][name]["nights"][0]["ratio"]

    other = {"architecture": {"params_m": 2500.0, "gmacs": 0.004}}
    for at, (name, blind) in enumerate({"plain-ratios": True, "plain-deep": False}.items()):
        as_was = judged(name, LocalStore(store.root / f"was-{at}"), {})
        changed = judged(name, LocalStore(store.root / f"changed-{at}"), other)
        assert (as_was == changed) is blind
