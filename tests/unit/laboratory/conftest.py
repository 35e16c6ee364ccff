"""A small fleet in a store with a truth, and methods of a size for tests."""

import gzip
from dataclasses import dataclass, replace
from datetime import date
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
LAST = date(2026, 1, 8)
"""The last of the eight days of `simulated`."""


@dataclass(frozen=True)
class Fleet:
    """A store of simulated days, and the folder of their truth."""

    store: LocalStore
    truth: Path


def simulated_fleet(root: Path, days: int, per_day: int, seed: int) -> Fleet:
    """A fleet in a folder, and in a store."""
    fleet = simulate(root / "fleet", days=days, per_day=per_day, seed=seed)
    store = LocalStore(root / "store")
    keep_catalogue(store, fleet.catalogue.read_bytes(), fleet.catalogue.name)
    for file in fleet.files:
        with gzip.open(file) as lines:
            records = [Record.of_json(line) for line in lines]
        take_in(store, records, Counts(), parse_time("2026-02-01T00:00:00Z"))
    return Fleet(store, fleet.truth)


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Eight days. Read it only."""
    return simulated_fleet(tmp_path_factory.mktemp("laboratory"), 8, 60, 5)
