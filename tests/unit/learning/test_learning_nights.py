"""A night with the cascade: trained, published and ranked with, as any other estimator."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain.training import training_set
from leap_model import Ranker
from leap_model.artifact import load
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from tests.support import RATES, checked, filled, fleet, preferred, request
from tests.unit.learning.samples import SMALL
from tests.unit.retrain.nights import TINY, night, outcomes, pointer_of, rows_between

CASCADE = replace(TINY, estimator=replace(SMALL, bins=5, expert_trees=40), processes=1)
GIANTS = "giant"
"""A model type far slower than any other."""


def giants(attempts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every fifth attempt a giant of a family that never ran before, which states nothing."""
    return [
        {
            **entry,
            "job_name": f"lab/new-{at}",
            "job_family": f"family {at}",
            "model_type": GIANTS,
            "throughput": RATES[entry["hardware_type"]] * entry["num_trainers"] / 1e5,
            "config": {},
            "architecture": {},
        }
        if at % 5 == 0
        else entry
        for at, entry in enumerate(attempts)
    ]


def giant_request() -> dict[str, Any]:
    asked = request()
    asked["job"] = {
        "job_name": "lab/new-0815",
        "model_type": GIANTS,
        "num_trainers": 2,
        "batch_size": 64,
    }
    return asked


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return filled(tmp_path_factory.mktemp("giants"), giants(fleet(500)))


@pytest.fixture(scope="module")
def metrics(store: LocalStore) -> Any:
    return night(store, settings=CASCADE)


def test_the_lowest_bin_is_the_giants_which_have_no_history(
    store: LocalStore, metrics: Any
) -> None:
    attempts = rows_between(store, date(2026, 1, 1), date(2026, 1, 10)).usable()
    before = outcomes(store, date(2026, 1, 10))
    rows = training_set(attempts, before, stored_catalogue(store), TARGETS["throughput"])
    lowest = np.argsort(rows.values)[: metrics["learning"]["first_rows_per_bin"][0]]
    types = attempts.jobs.model_type
    assert {types.values[code] for code in types.codes[lowest]} == {GIANTS}
    runs = rows.matrix[:, rows.schema.names.index("history.runs")]
    assert np.all(runs[lowest] == 0)
    assert np.all(np.isnan(rows.matrix[lowest, rows.schema.names.index("config.lr")]))


def test_a_night_tells_of_bins_and_rounds(metrics: Any) -> None:
    assert metrics["pointed"]
    assert metrics["estimator"] == "cascade"
    learning = metrics["learning"]
    assert learning["first_rows_per_bin"] == [90] * 5
    assert sum(learning["rows_per_bin"]) == metrics["rows"] == 450
    assert 1 <= len(learning["rounds"]) <= 3
    assert json.dumps(metrics, allow_nan=False)


def test_what_decided_the_model_travels_with_it(store: LocalStore, metrics: Any) -> None:
    pointer = pointer_of(store)
    assert pointer is not None
    artifact = load(store.folder(pointer.uri), pointer.manifest_sha256)
    assert artifact.training["estimator"] == CASCADE.estimator.settings()
    assert "classifier" in artifact.model.forests
    assert metrics["version"] == pointer.version


@pytest.mark.usefixtures("metrics")
def test_giants_and_all_others_rank(store: LocalStore) -> None:
    ranker = Ranker.from_store(store.root)
    giant, known = checked(ranker.rank(giant_request())), checked(ranker.rank(request()))
    assert preferred(known)[0] == preferred(giant)[0] == "fast-8"
    assert len(preferred(known)) == len(preferred(giant)) == 3
    for answer, scale in ((giant, 1e5), (known, 10.0)):
        for entry in answer["preference"]:
            wanted = RATES[entry["hardware_type"]] * 2 / scale
            assert entry["throughput"] == pytest.approx(wanted, rel=0.3)


@pytest.mark.parametrize(
    "change",
    [{"throughput": 123.0}, {"config": {}, "architecture": {}}, {"job_family": "one"}],
    ids=["one throughput", "no configuration", "one family"],
)
def test_fleets_of_odd_shapes_train_point_and_rank(tmp_path: Path, change: dict[str, Any]) -> None:
    odd = filled(tmp_path / "odd", fleet(300, **change))
    quick = replace(CASCADE, estimator=replace(SMALL, bins=3, rounds=1, expert_trees=4))
    assert night(odd, settings=quick)["pointed"]
    asked = request()
    asked["job"] |= change
    assert checked(Ranker.from_store(odd.root).rank(asked))["reason"] is None


def test_any_number_of_processes_points_at_the_same_model(store: LocalStore, metrics: Any) -> None:
    again = night(store, settings=replace(CASCADE, processes=2))
    assert again["manifest_sha256"] == metrics["manifest_sha256"]
    assert again["learning"]["processes"] == 2
