"""Nights judged, results kept and gone on with, and candidates asked about as a launcher would."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.laboratory import judging, methods, table
from bench.laboratory.candidates import ask_all
from bench.laboratory.judging import best_share, set_exam, sit
from bench.laboratory.methods import Method
from bench.laboratory.results import Results, fleet_digest
from bench.laboratory.table import Plan, differences, fill, nights_of, summary
from functions.retrain.nights import Night, Past, read_past
from leap_model.columns import Floats
from leap_model.store import LocalStore
from tests.unit.laboratory.conftest import LAST, PLAN, QUICK, Fleet


@pytest.fixture(scope="module")
def past(simulated: Fleet) -> Past:
    return read_past(simulated.store, QUICK, 1, LAST, 1)


@pytest.fixture(scope="module")
def night(past: Past) -> Night:
    return past.night(LAST, QUICK)


def _quick(name: str, trees: float = 0.01) -> Method:
    return methods.method(name, trees)


def _texts(asked: Night, row: int) -> dict[str, Any]:
    jobs = asked.jobs.jobs
    columns = jobs.allocation.by_name
    return {
        name: entry.labels.values[entry.labels.codes[row]]
        for name, entry in columns.items()
        if entry.labels.codes[row] >= 0
    }


def test_a_candidate_is_the_job_on_another_type(night: Night) -> None:
    used = night.jobs.jobs.hardware_type
    types = ("h100-made-up", *used.values)
    hosts = np.zeros((len(night.jobs), len(types)), bool)
    hosts[3] = True
    asked = ask_all(night, types, hosts)
    jobs = asked.night.jobs.jobs
    assert len(jobs) == len(night.jobs) + len(types)
    own = used.values[used.codes[3]]
    before = _texts(asked.night, 3)
    assert any(own in text for text in before.values())
    for at, name in enumerate(types):
        row = len(night.jobs) + at
        assert jobs.hardware_type.values[jobs.hardware_type.codes[row]] == name
        assert jobs.num_trainers[row] == night.jobs.jobs.num_trainers[3]
        assert jobs.family.codes[row] == night.jobs.jobs.family.codes[3]
        assert asked.night.history.runs[row] == night.history.runs[3]
        assert np.isnan(jobs.accelerators_per_host[row]) or name == own
        assert _texts(asked.night, row) == {
            key: text.replace(own, name) for key, text in before.items()
        }
    assert np.isnan(asked.night.jobs.measured).all()


def test_the_jobs_as_they_ran_are_asked_about_unchanged(night: Night) -> None:
    hosts = np.ones((len(night.jobs), 2), bool)
    asked = ask_all(night, ("one", "two"), hosts)
    single = _quick("single")
    alone = single.predict(night)
    said = single.predict(asked.night)
    np.testing.assert_array_equal(asked.own(said), alone)
    assert asked.grid(said).shape == (len(night.jobs), 2)


def test_the_truth_as_a_method_regrets_nothing_and_reaches_the_ceiling(
    past: Past, night: Night, simulated: Fleet
) -> None:
    exam = set_exam(night, past.ids(LAST), simulated.truth, most=15)
    assert exam.asked is not None
    assert exam.stakes is not None
    known = pq.read_table(simulated.truth / f"{LAST}.parquet").to_pylist()
    by_id = {row["attempt_id"]: row for row in known}
    true = [by_id[name][by_id[name]["hardware_type"]] for name in past.ids(LAST)]
    grid = exam.stakes.throughput

    def oracle(asked: Night) -> Floats:
        assert exam.asked is not None
        values = np.full((len(night.jobs), grid.shape[1]), np.nan)
        values[exam.sample] = grid
        return np.concatenate([true, values[exam.asked.rows, exam.asked.columns]])

    result = sit(exam, Method("oracle", {}, oracle))
    told = result["decisions"]
    assert (told["attempts"], told["coverage"], told["regret"]) == (15, 1.0, 0.0)
    assert (told["pairwise"], told["saving"], told["best_first"]) == (1.0, 1.0, 1.0)
    assert result["evaluation"]["w20"] == pytest.approx(result["true_ceiling_w20"], abs=0.05)
    assert result["true_ceiling_w20"] >= result["evaluation"]["w20"]


def test_dollars_and_hours_are_those_of_the_attempts(
    past: Past, night: Night, simulated: Fleet
) -> None:
    exam = set_exam(night, past.ids(LAST), simulated.truth, most=1_000)
    assert exam.stakes is not None
    table = pq.read_table(next(iter((simulated.store.root).glob(f"attempts/dt={LAST}/*"))))
    paid = {row["attempt_id"]: row["cost_usd"] for row in table.to_pylist()}
    expected = [paid[name] for name in past.ids(LAST)]
    np.testing.assert_allclose(exam.stakes.dollars, expected, rtol=0.01, atol=0.01)


def test_no_method_is_given_the_truth(past: Past, night: Night, simulated: Fleet) -> None:
    seen: list[Night] = []

    def watching(asked: Night) -> Floats:
        seen.append(asked)
        return np.ones(len(asked.jobs))

    sit(set_exam(night, past.ids(LAST), simulated.truth, 10), Method("watching", {}, watching))
    (asked,) = seen
    assert np.isnan(asked.jobs.measured).all()
    assert np.isnan(asked.jobs.accelerator_hours).all()
    assert asked.training is night.training


@pytest.mark.parametrize("name", ["family-median", "family-median-else-model"])
def test_what_speaks_of_no_type_makes_no_decision(
    past: Past, night: Night, simulated: Fleet, name: str
) -> None:
    exam = set_exam(night, past.ids(LAST), simulated.truth, 10)
    result = sit(exam, _quick(name))
    assert result["decisions"] is None
    assert result["coverage"] > 0


def test_without_truth_there_are_no_decisions_and_no_ceiling(past: Past, night: Night) -> None:
    result = sit(set_exam(night, past.ids(LAST), None, 10), _quick("lookup-table"))
    assert (result["decisions"], result["true_ceiling_w20"]) == (None, None)
    assert result["hits"].count("-") == round((1 - result["coverage"]) * len(result["hits"]))


def test_the_best_share_is_what_one_factor_can_reach() -> None:
    assert best_share(np.array([1.0, 1.1, 1.5, 3.0])) == 0.75  # 1 to 1.5 is the band's width
    assert best_share(np.array([2.0, 2.2])) == 1.0
    draw = np.random.default_rng(1).lognormal(0, 0.3, 300)
    tried = max(np.mean(np.abs(draw * factor - 1) <= 0.2) for factor in np.linspace(0.5, 2, 9_000))
    assert best_share(draw) == pytest.approx(tried, abs=1 / 300)


@pytest.fixture
def sat(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that had to predict, in order."""
    names: list[str] = []

    def watched(exam: judging.Exam, method: Method) -> dict[str, Any]:
        names.append(method.name)
        return sit(exam, method)

    monkeypatch.setattr(table, "sit", watched)
    return names


def test_a_table_goes_on_where_it_stopped(simulated: Fleet, tmp_path: Path, sat: list[str]) -> None:
    results = Results(tmp_path, fleet_digest(simulated.store, simulated.truth))
    chosen = [_quick("lookup-table"), _quick("single")]

    def filled(*some: Method, plan: Plan = PLAN) -> dict[str, list[dict[str, Any]]]:
        sat.clear()
        return fill(simulated.store, simulated.truth, QUICK, plan, some, results)

    first = filled(chosen[0])
    assert sat == ["lookup-table"] * 2
    both = filled(*chosen)
    assert sat == ["single"] * 2
    assert filled(*chosen) == both
    assert sat == []
    assert both["lookup-table"] == json.loads(json.dumps(first["lookup-table"]))
    assert [night["as_of"] for night in both["single"]] == ["2026-01-07", "2026-01-08"]
    (tmp_path / results.fleet / "2026-01-07").rename(tmp_path / "lost")
    filled(*chosen)
    assert sat == ["lookup-table", "single"]
    filled(_quick("single", 0.02), plan=PLAN)
    assert sat == ["single"] * 2
    filled(chosen[0], plan=replace(PLAN, most=10))
    assert sat == ["lookup-table"] * 2


def test_a_stopped_write_leaves_no_result(tmp_path: Path) -> None:
    results = Results(tmp_path, "fleet")
    with pytest.raises(ValueError, match="not JSON compliant"):
        results.write(LAST, "m", {}, {"w20": float("nan")})
    assert results.read(LAST, "m", {}) is None
    results.write(LAST, "m", {}, {"w20": 0.5})
    assert results.read(LAST, "m", {}) == {"method": "m", "settings": {}, "w20": 0.5}
    assert results.read(LAST, "m", {"seed": 1}) is None


def test_the_digest_is_of_attempts_catalogue_and_truth(
    simulated: Fleet, store: LocalStore, tmp_path: Path
) -> None:
    whole = fleet_digest(simulated.store, simulated.truth)
    assert whole == fleet_digest(LocalStore(simulated.store.root), simulated.truth)
    assert len({whole, fleet_digest(simulated.store, None), fleet_digest(store, None)}) == 3
    (tmp_path / "2026-01-01.parquet").write_bytes(b"other")
    assert fleet_digest(simulated.store, tmp_path) != whole


def _night(hits: str) -> dict[str, Any]:
    return {"hits": hits}


def test_differences_are_of_what_both_answer() -> None:
    ours = [_night("11-0"), _night("1111"), _night("----")]
    theirs = [_night("10-1"), _night("00--"), _night("1111")]
    assert differences(ours, theirs) == pytest.approx([0.0, 1.0])
    assert differences(theirs, ours) == pytest.approx([0.0, -1.0])


def test_the_summary_is_of_all_methods(simulated: Fleet, tmp_path: Path) -> None:
    results = Results(tmp_path, "fleet")
    chosen = [_quick("lookup-table"), _quick("single")]
    filled = fill(simulated.store, simulated.truth, QUICK, PLAN, chosen, results)
    found = summary(filled, "single")
    assert found["single"]["difference"] == {"nights": 2, "mean": 0, "low": 0, "high": 0}
    assert found["lookup-table"]["coverage"] < 1
    by_night = [night["evaluation"]["w20"] for night in filled["single"]]
    assert found["single"]["w20"] == pytest.approx(np.mean(by_night))
    assert (found["single"]["least"], found["single"]["most"]) == (min(by_night), max(by_night))
    assert 0 < found["single"]["decisions"]["all"]["pairwise"] < 1
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert nights_of(simulated.store, PLAN) == [date(2026, 1, 7), LAST]


def test_fewer_trees_change_every_count_of_trees() -> None:
    full, half = methods.method("cascade"), methods.method("cascade", 0.5)
    for key, value in full.constants.items():
        expected = value * 0.5 if key.endswith("trees") else value
        assert half.constants[key] == expected


def test_a_method_that_is_none_is_refused() -> None:
    with pytest.raises(methods.MethodError, match="oracle is none of network, "):
        methods.method("oracle")
