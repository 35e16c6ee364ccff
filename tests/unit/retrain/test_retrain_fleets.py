"""Fleets of odd shapes: a night trains or says in one sentence why not."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from functions.retrain.learning.single import Single
from leap_model import Ranker
from leap_model.errors import CatalogueError, TrainingError
from leap_model.store import LocalStore
from tests.support import attempt, checked, filled, fleet, preferred, request
from tests.unit.retrain.nights import AS_OF, FEW, TINY, night, pointer_of

Attempts = list[dict[str, Any]]


@pytest.mark.parametrize("count", [0, 1, 20, 199])
def test_a_handful_of_attempts_trains_nothing(store: LocalStore, count: int) -> None:
    filled(store.root, fleet(count))
    with pytest.raises(TrainingError, match=r"usable throughput on|holds no attempts"):
        night(store)
    assert pointer_of(store) is None
    assert store.keys("models") == []
    answer = checked(Ranker.from_store(store.root).rank(request()))
    assert answer["reason"] == "model_unavailable"


def test_forty_rows_over_two_days_publish_nothing(store: LocalStore) -> None:
    filled(store.root, fleet(40, days=2))
    with pytest.raises(TrainingError, match="training needs at least 200 on 2"):
        night(store, date(2026, 1, 3))


@pytest.mark.parametrize("count", [2, 3, 20])
def test_few_rows_train_where_the_settings_allow_it(store: LocalStore, count: int) -> None:
    filled(store.root, fleet(count))
    metrics = night(store, settings=FEW)
    assert metrics["pointed"]
    assert json.dumps(metrics, allow_nan=False)


def _no_throughput_but_the_first(attempts: Attempts) -> Attempts:
    return [{**a, "throughput": 100.0 if at % 2 else None} for at, a in enumerate(attempts)]


def _all(**values: Any) -> Any:
    return lambda attempts: [{**a, **values} for a in attempts]


def _without(*names: str) -> Any:
    return lambda attempts: [{n: v for n, v in a.items() if n not in names} for a in attempts]


def _many_types(attempts: Attempts) -> Attempts:
    return [{**a, "model_type": f"m{at % 300}"} for at, a in enumerate(attempts)]


def _many_keys(attempts: Attempts) -> Attempts:
    return [{**a, "config": {f"k{at}-{n}": n for n in range(3)}} for at, a in enumerate(attempts)]


def _two_values(attempts: Attempts) -> Attempts:
    return [{**a, "throughput": 3.0 if at % 5 else 2980.0} for at, a in enumerate(attempts)]


def _mixed_kinds(attempts: Attempts) -> Attempts:
    kinds = (1, 2.5, "1", "x", True, None, [1], {"a": 1})
    return [{**a, "config": {"x": kinds[at % 8]}} for at, a in enumerate(attempts)]


def _wild(attempts: Attempts) -> Attempts:
    return [{**a, "throughput": 10.0 ** (at % 15 - 7)} for at, a in enumerate(attempts)]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_all(), id="plain"),
        pytest.param(_all(hardware_type="fast-8"), id="one type"),
        pytest.param(_all(hardware_type="unheard-of"), id="one unknown type"),
        pytest.param(_all(model_type="bert"), id="one model type"),
        pytest.param(_all(throughput=123.0), id="one throughput"),
        pytest.param(_all(job_family="one"), id="one family"),
        pytest.param(_all(config={}, architecture={}), id="no configuration"),
        pytest.param(_all(num_trainers=1, batch_size=1, model_type="m"), id="one job"),
        pytest.param(_without("architecture"), id="no architecture"),
        pytest.param(_without("config", "architecture", "duration_s", "launched_at"), id="bare"),
        pytest.param(_no_throughput_but_the_first, id="half unusable"),
        pytest.param(_many_types, id="300 model types"),
        pytest.param(_many_keys, id="900 names"),
        pytest.param(_two_values, id="two throughputs"),
        pytest.param(_mixed_kinds, id="mixed kinds"),
        pytest.param(_wild, id="fifteen decades"),
    ],
)
def test_a_fleet_of_an_odd_shape_trains_points_and_ranks(store: LocalStore, change: Any) -> None:
    filled(store.root, change(fleet(500)))
    metrics = night(store)
    assert metrics["pointed"]
    assert json.dumps(metrics, allow_nan=False)
    asked = request(allow_untrained=True)
    asked["job"]["config"] = {f"k{at}-{n}": n for at in range(500) for n in range(2)}
    asked["job"]["architecture"] = {"params_m": 250.0, "gmacs": 40.0}
    for config in (asked["job"]["config"], request()["job"]["config"], {"x": 1}):
        asked["job"]["config"] = config
        answer = checked(Ranker.from_store(store.root).rank(asked))
        assert answer["reason"] in (None, "missing_feature")


def test_of_one_throughput_everything_is_predicted_alike(store: LocalStore) -> None:
    filled(store.root, fleet(500, throughput=123.0))
    plain = replace(TINY, estimator=Single(name="plain", scaled=False, trees=4, leaves=6))
    metrics = night(store, settings=plain)
    assert metrics["evaluation"]["w5"] == 1.0
    answer = checked(Ranker.from_store(store.root).rank(request()))
    assert [e["throughput"] for e in answer["preference"]] == pytest.approx([123.0] * 3)


def test_a_type_with_few_rows_is_untrained(store: LocalStore) -> None:
    attempts = [a for a in fleet(500) if a["hardware_type"] != "slow-4"]
    rare = [
        attempt(attempt_id=f"r{at}", hardware_type="slow-4", completed_at="2026-01-05T00:00:00Z")
        for at in range(49)
    ]
    filled(store.root, [*attempts, *rare])
    night(store)
    answer = checked(Ranker.from_store(store.root).rank(request()))
    assert sorted(preferred(answer)) == ["fast-8", "mid-8"]
    assert answer["excluded"][0]["reason"] == "untrained_hardware"


@pytest.fixture
def unjudged(store: LocalStore) -> LocalStore:
    """The evaluation day has attempts, but no usable one."""
    attempts = fleet(320)
    for entry in attempts:
        if entry["completed_at"][:10] == "2026-01-10":
            entry["throughput"] = None
    return filled(store.root, attempts)


def test_without_a_usable_attempt_to_judge_on_figures_are_null_and_nothing_points(
    unjudged: LocalStore,
) -> None:
    metrics = night(unjudged)
    evaluation = metrics["evaluation"]
    assert (evaluation["attempts"], evaluation["from"]) == (0, "2026-01-10")
    for name in ("w5", "w10", "w15", "w20", "mdape", "ratio", "w20_by_gpu_hours"):
        assert evaluation[name] is None
    assert (evaluation["by_hardware"], evaluation["by_model_type"]) == ({}, {})
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert "--force" in metrics["reason"]
    assert pointer_of(unjudged) is None
    json.dumps(metrics, allow_nan=False)


def test_force_points_without_an_evaluation(unjudged: LocalStore) -> None:
    metrics = night(unjudged, force=True)
    assert (metrics["pointed"], metrics["reason"]) == (True, None)
    pointer = pointer_of(unjudged)
    assert pointer is not None
    assert pointer.version == metrics["version"]


def test_a_store_without_a_catalogue_trains_nothing(store: LocalStore) -> None:
    filled(store.root, fleet(300))
    (store.root / "catalogue/hardware.json").unlink()
    with pytest.raises(CatalogueError, match="catalogue"):
        night(store, AS_OF, TINY)
