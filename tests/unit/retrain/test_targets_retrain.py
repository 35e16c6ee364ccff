"""A run for utilization: its own attempts, history, versions, pointer, gate and reports."""

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.single import Single
from leap_model import Ranker
from leap_model.artifact import Artifact, load
from leap_model.columns import Labels
from leap_model.errors import TrainingError
from leap_model.history import family_hashes
from leap_model.pointer import Pointer, read_pointer
from leap_model.store import LocalStore
from leap_model.targets import TARGETS
from tests.support import attempt, checked, filled, fleet, preferred, request
from tests.unit.retrain.nights import AS_OF, FEW, TINY, add, night

Attempts = list[dict[str, Any]]
USED = {"resnet": 0.8, "bert": 0.4, "ctr": 0.1}
TARGET = replace(TINY, target=TARGETS["utilization"], min_rows=100)
JUDGED = "2026-01-10"


def _measured(at: int, entry: dict[str, Any]) -> dict[str, Any]:
    """Of ten attempts two report no utilization, one zero, and three no throughput."""
    used = {0: None, 1: None, 2: 0.0}.get(at % 10, USED[entry["model_type"]] * (0.99 + at % 3 / 99))
    return entry | {"utilization": used} | ({"throughput": None} if at % 10 >= 7 else {})


@pytest.fixture(scope="module")
def attempts() -> Attempts:
    return [_measured(at, entry) for at, entry in enumerate(fleet(320))]


@pytest.fixture
def full(store: LocalStore, attempts: Attempts) -> LocalStore:
    return filled(store.root, attempts)


def _pointer(store: LocalStore, target: str = "utilization") -> Pointer:
    pointer, _ = read_pointer(store, "local", target)
    assert pointer is not None
    return pointer


def _artifact(store: LocalStore, target: str = "utilization") -> Artifact:
    pointer = _pointer(store, target)
    return load(store.folder(pointer.uri), pointer.manifest_sha256)


def _bytes(store: LocalStore, target: str) -> dict[str, bytes | None]:
    keys = [key for part in ("models", "pointers", "reports") for key in store.keys(part)]
    return {key: store.read(key) for key in keys if target in key}


def test_only_attempts_with_a_usable_utilization_train(
    full: LocalStore, attempts: Attempts, fits: list[TrainingSet]
) -> None:
    metrics = night(full, settings=TARGET)
    window = [a for a in attempts if "2026-01-01" <= a["completed_at"][:10] < JUDGED]
    used = [a["utilization"] for a in window if a["utilization"]]
    assert 100 < len(used) < len(window)
    assert metrics["rows"] == len(used)
    assert metrics["attempts"] == {"read": len(window), "unusable": len(window) - len(used)}
    (rows,) = fits
    np.testing.assert_allclose(rows.values, np.log(used))
    assert rows.scale is None


def test_it_is_judged_on_the_utilization_of_the_evaluation_day(
    full: LocalStore, attempts: Attempts
) -> None:
    evaluation = night(full, settings=TARGET)["evaluation"]
    judged = [a for a in attempts if a["completed_at"][:10] == JUDGED and a["utilization"]]
    assert evaluation["attempts"] == len(judged)
    assert evaluation["ratio"] == pytest.approx(1, abs=0.1)
    assert evaluation["w20"] > 0.9


def test_versions_pointer_and_reports_are_those_of_the_target(full: LocalStore) -> None:
    metrics = night(full, settings=TARGET)
    assert (metrics["target"], metrics["pointed"]) == ("utilization", True)
    version, pointer = metrics["version"], _pointer(full)
    assert (pointer.version, pointer.uri) == (version, f"models/utilization/{version}")
    assert _artifact(full).target.name == "utilization"
    report = full.read(f"reports/utilization/{version}/metrics.json")
    assert json.loads(report or b"") == metrics
    assert full.read(f"reports/utilization/{version}/report.html")
    assert _bytes(full, "throughput") == {}


def test_a_run_for_one_target_leaves_the_other_s_objects_alone(full: LocalStore) -> None:
    night(full, settings=replace(TINY, min_rows=100))
    before = _bytes(full, "throughput")
    assert any(key == "pointers/local/throughput.json" for key in before)
    night(full, AS_OF + timedelta(days=1), TARGET)
    assert _bytes(full, "throughput") == before
    assert _pointer(full).as_of == "2026-01-12"


def _family(name: str, day: int, **values: Any) -> dict[str, Any]:
    return attempt(
        attempt_id=f"{name}-{day}",
        job_family=name,
        launched_at=f"2026-01-{day:02}T01:00:00Z",
        completed_at=f"2026-01-{day:02}T02:00:00Z",
        **values,
    )


FAMILIES = [
    _family("mixed", 2, throughput=None, utilization=0.25),
    _family("mixed", 3, throughput=100.0),
    _family("mixed", 4, throughput=0, utilization=0.5),
    _family("mixed", 5, throughput=400.0, utilization=0.0),
    _family("mixed", 6, throughput=300.0, utilization=1.0),
    _family("fast", 3, throughput=50.0),
    _family("busy", 3, throughput=None, utilization=0.75),
]


@pytest.mark.parametrize(
    ("target", "runs", "last"),
    [
        ("throughput", [3, 1, 0], [300, 50, np.nan]),
        ("utilization", [3, 0, 1], [1, np.nan, 0.75]),
    ],
)
def test_the_snapshot_of_a_target_holds_the_attempts_that_report_it(
    store: LocalStore, target: str, runs: list[int], last: list[float]
) -> None:
    filled(store.root, [*FAMILIES, _family("judged", 7, utilization=0.5)])
    night(store, date(2026, 1, 8), replace(FEW, target=TARGETS[target]))
    hashes = family_hashes(Labels.of(["mixed", "fast", "busy"]))
    history = _artifact(store, target).snapshot.lookup(hashes)
    assert history.runs.tolist() == runs
    np.testing.assert_allclose(np.exp(history.last), last)


def test_the_history_that_trains_is_of_the_target(
    store: LocalStore, fits: list[TrainingSet]
) -> None:
    filled(store.root, [*FAMILIES, _family("judged", 7, utilization=0.5)])
    night(store, date(2026, 1, 8), replace(FEW, target=TARGETS["utilization"]))
    (rows,) = fits
    assert np.exp(rows.values).tolist() == pytest.approx([0.75, 0.25, 0.5, 1.0])  # by attempt id
    runs = rows.matrix[:, rows.schema.names.index("history.runs")]
    assert runs.tolist() == [0, 0, 1, 2]
    last = np.exp(rows.matrix[2:, rows.schema.names.index("history.last")])
    assert last.tolist() == pytest.approx([0.25, 0.5])


def test_too_few_attempts_that_report_it_are_named_with_the_target(full: LocalStore) -> None:
    with pytest.raises(TrainingError, match="attempts with a usable utilization on"):
        night(full, settings=replace(TARGET, min_rows=250))
    assert full.keys("models") == []


def test_a_fleet_that_never_reports_it_trains_nothing(store: LocalStore) -> None:
    filled(store.root, fleet(320))
    with pytest.raises(TrainingError, match=r"^0 attempts with a usable utilization on 0 days"):
        night(store, settings=TARGET)


def test_a_day_that_does_not_report_it_points_only_by_force(
    store: LocalStore, attempts: Attempts
) -> None:
    blind = [a | {"utilization": None} if a["completed_at"][:10] == JUDGED else a for a in attempts]
    filled(store.root, blind)
    metrics = night(store, settings=TARGET)
    assert (metrics["evaluation"]["attempts"], metrics["pointed"]) == (0, False)
    assert "no usable attempt to evaluate on" in metrics["reason"]
    assert night(store, settings=TARGET, force=True)["pointed"]


def test_the_gate_compares_with_the_live_model_of_the_target(full: LocalStore) -> None:
    night(full, date(2026, 1, 10), replace(TINY, min_rows=100))
    assert night(full, settings=TARGET)["live"] is None  # that of throughput is no rival
    poor = replace(TARGET, estimator=Single(trees=1, leaves=2, learning_rate=0.01))
    add(full, [_family("next", 11, utilization=0.1, model_type="ctr")])
    metrics = night(full, date(2026, 1, 12), poor)
    assert metrics["live"]["version"] == _pointer(full).version != metrics["version"]
    assert metrics["live"]["evaluation"]["w20"] == 1.0
    assert metrics["evaluation"]["w20"] == 0.0
    assert not metrics["pointed"]
    assert metrics["reason"].startswith("w20 of 2026-01-11 is 0.0 %, and 100.0 % with the live ")
    assert night(full, date(2026, 1, 12), replace(poor, gate_margin=1.0))["pointed"]


def test_a_live_model_of_another_target_has_no_figures_and_holds_nothing_up(
    full: LocalStore,
) -> None:
    night(full, date(2026, 1, 10), replace(TINY, min_rows=100))
    pointers = full.root / "pointers/local"
    (pointers / "utilization.json").write_bytes((pointers / "throughput.json").read_bytes())
    metrics = night(full, settings=TARGET)
    assert metrics["live"]["evaluation"] is None
    assert metrics["live"]["reason"] == "it predicts throughput"
    assert metrics["pointed"]
    assert _pointer(full).version == metrics["version"]


def test_a_stage_with_a_model_of_each_ranks_with_both(full: LocalStore) -> None:
    night(full, settings=replace(TINY, min_rows=100, min_hardware_rows=20))
    night(full, settings=replace(TARGET, min_hardware_rows=20))
    answer = checked(Ranker.from_store(full.root).rank(request()))
    assert len(preferred(answer)) == 3
    assert answer["models"] == {
        target: _pointer(full, target).version for target in ("throughput", "utilization")
    }
    for entry in answer["preference"]:
        assert entry["utilization"] == pytest.approx(USED["bert"], rel=0.1)
