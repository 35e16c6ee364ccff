"""Which type would be first: as a ranking of the same job says, for a bounded number of jobs."""

from dataclasses import replace

import numpy as np
import pytest

from functions.retrain import first_choices as module
from functions.retrain.elsewhere import on_types
from functions.retrain.first_choices import first_choices
from functions.retrain.judged import Judged
from leap_model.columns import Objects
from leap_model.targets import TARGETS
from tests.support import CATALOGUE, RATES, filled, fleet
from tests.unit.retrain.nights import Case, judged_case


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A model of a fleet whose throughput hangs on the hosts, the model and the hardware."""
    return judged_case(filled(tmp_path_factory.mktemp("choices"), fleet(900)))


def test_the_type_with_the_most_work_per_dollar_is_first(case: Case) -> None:
    found = first_choices(*case, least_rows=50, seed=0)
    assert found is not None
    costs = {"fast-8": 40.0, "mid-8": 20.0, "slow-4": 4.0}
    assert found["candidates"] == list(costs)  # a type without a price is no candidate
    worth = {name: RATES[name] / costs[name] for name in costs}
    near = {name for name in worth if worth[name] > 0.8 * max(worth.values())}
    assert found["model_types"].keys() == {"resnet", "bert", "ctr"}
    for entry in found["model_types"].values():
        assert sum(entry["first"].values()) == entry["asked"] == min(entry["attempts"], 25)
        assert sum(entry["first"].get(name, 0) for name in near) > 0.7 * entry["asked"]
    counts = [entry["attempts"] for entry in found["model_types"].values()]
    assert counts == sorted(counts, reverse=True)


def test_types_with_too_few_rows_are_no_candidates(case: Case) -> None:
    trained, judged, catalogue = case
    rows = {"fast-8": 49, "mid-8": 50, "slow-4": 50}
    found = first_choices(replace(trained, hardware_rows=rows), judged, catalogue, 50, 0)
    assert found is not None
    assert found["candidates"] == ["mid-8", "slow-4"]
    assert first_choices(replace(trained, hardware_rows={}), judged, catalogue, 50, 0) is None


def test_a_premium_type_that_would_be_wasted_is_not_first(case: Case) -> None:
    from leap_model.catalogue import parse_catalogue

    trained, judged, _ = case
    types = [dict(entry) for entry in CATALOGUE["hardware_types"][:3]]
    for entry in types:
        entry["cost_per_hour"] = entry.get("cost_per_hour", 20.0)
    types[0] |= {"cost_per_hour": 0.01, "premium": True, "premium_min_efficiency": 1e6}
    found = first_choices(trained, judged, parse_catalogue(types), 50, 0)
    assert found is not None
    assert all("fast-8" not in entry["first"] for entry in found["model_types"].values())
    types[0]["premium_min_efficiency"] = 0.0
    found = first_choices(trained, judged, parse_catalogue(types), 50, 0)
    assert found is not None
    assert all(entry["first"].keys() == {"fast-8"} for entry in found["model_types"].values())


def test_attempts_and_model_types_are_bounded(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MODEL_TYPES", 2)
    monkeypatch.setattr(module, "ATTEMPTS_EACH", 5)
    first, again = (first_choices(*case, least_rows=50, seed=1) for _ in range(2))
    assert first == again
    assert first is not None
    assert [entry["asked"] for entry in first["model_types"].values()] == [5, 5]


def test_of_nothing_or_of_another_target_there_is_none(case: Case) -> None:
    trained, judged, catalogue = case
    none = np.arange(0)
    empty = Judged(
        judged.attempts.take(none),
        judged.history.take(none),
        judged.predicted[none],
        judged.before[none],
        judged.ranked,
    )
    assert first_choices(trained, empty, catalogue, 50, 0) is None
    utilization = replace(trained, target=TARGETS["utilization"])
    assert first_choices(utilization, judged, catalogue, 50, 0) is None


def test_a_job_elsewhere_is_said_to_be_there_and_nowhere_else(case: Case) -> None:
    jobs = case[1].attempts.jobs.take(np.arange(4))
    zones = Objects.of(
        [{"pool": f"{jobs.hardware_type.values[c]}/a", "n": 1.0} for c in jobs.hardware_type.codes]
    )
    jobs = replace(jobs, allocation=zones, accelerators_per_host=np.full(4, 3.0))
    rows, columns = np.array([0, 1, 2, 3, 0]), np.array([0, 1, 0, 1, -1])
    moved = on_types(jobs, ("new-type", "mid-8"), rows, columns)
    names = [moved.hardware_type.values[code] for code in moved.hardware_type.codes]
    own = jobs.hardware_type.values[jobs.hardware_type.codes[0]]
    assert names == ["new-type", "mid-8", "new-type", "mid-8", own]
    pools = moved.allocation.by_name["pool"].labels
    assert [pools.values[code] for code in pools.codes] == [f"{name}/a" for name in names]
    before = [jobs.hardware_type.values[jobs.hardware_type.codes[row]] for row in rows]
    stayed = [name == was for name, was in zip(names, before, strict=True)]
    assert (~np.isnan(moved.accelerators_per_host)).tolist() == stayed
    assert moved.num_trainers.tolist() == jobs.num_trainers[rows].tolist()
