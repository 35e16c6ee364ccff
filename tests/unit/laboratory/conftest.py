"""A small fleet in a store with a truth, and methods of a size for tests."""

import gzip
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.laboratory.table import Plan
from cli.simulation import simulate
from functions.retrain.learning.single import Single
from functions.retrain.settings import Settings
from leap_model.intake import Counts, Record, take_in
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue
from leap_model.times import parse_time

QUICK = replace(Settings(), estimator=Single(trees=4, leaves=8, learning_rate=0.5), min_rows=50)
PLAN = Plan(nights=2, most=20)


@dataclass(frozen=True)
class Fleet:
    """A store of eight simulated days, and the folder of their truth."""

    store: LocalStore
    truth: Path


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Read it only."""
    root = tmp_path_factory.mktemp("laboratory")
    fleet = simulate(root / "fleet", days=8, per_day=60, seed=5)
    store = LocalStore(root / "store")
    keep_catalogue(store, fleet.catalogue.read_bytes(), fleet.catalogue.name)
    for file in fleet.files:
        with gzip.open(file) as lines:
            records = [Record.of_json(line) for line in lines]
        take_in(store, records, Counts(), parse_time("2026-02-01T00:00:00Z"))
    return Fleet(store, fleet.truth)
