"""Nights with a network: what they predict, what they ship, and what they must not know."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain import live, nightly
from functions.retrain.evaluation import evaluate
from functions.retrain.nights import Night, read_past
from functions.retrain.training import Trained, memory_with, train
from leap_model import Ranker
from leap_model.artifact import Artifact, load
from leap_model.columns import Floats, Jobs
from leap_model.family import family_of
from leap_model.history import cutoffs, family_hashes
from leap_model.limits import DAY_US
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import parse_time, start_of
from tests.support import checked, filled, fleet, request
from tests.unit.leap_model.builders import jobs_of
from tests.unit.learning.nets import NET, SETTINGS
from tests.unit.retrain.nights import (
    AS_OF,
    LATER,
    night,
    outcomes,
    pointer_of,
    published_and_pointed,
    rows_between,
)

DAY = AS_OF - timedelta(days=1)
"""The evaluation day."""
Runs = list[dict[str, Any]]
RUNS = fleet(320)
TYPES = ("fast-8", "mid-8", "slow-4")


class Watched:
    """A night with what it trained and predicted."""

    def __init__(self, store: LocalStore, **options: Any) -> None:
        self.trained: list[Trained] = []
        self.predicted: list[Floats] = []
        self.live: list[Floats] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nightly, "train", self._train)
            patch.setattr(nightly, "evaluate", self._judge(self.predicted))
            patch.setattr(live, "evaluate", self._judge(self.live))
            self.metrics = night(store, settings=SETTINGS, **options)
        self.store = store

    def _train(self, *arguments: Any) -> Trained:
        self.trained.append(train(*arguments))
        return self.trained[0]

    @staticmethod
    def _judge(seen: list[Floats]) -> Any:
        def judging(attempts: Any, predicted: Floats, cold: Any, noise: Any = None) -> Any:
            seen.append(predicted)
            return evaluate(attempts, predicted, cold, noise)

        return judging

    def artifact(self) -> Artifact:
        """The version that was published."""
        return load(self.store.folder(f"models/throughput/{self.metrics['version']}"))

    def files(self) -> Mapping[str, bytes | None]:
        """What was published, by name."""
        prefix = f"models/throughput/{self.metrics['version']}"
        keys = self.store.keys(prefix)
        return {key.removeprefix(f"{prefix}/"): self.store.read(key) for key in keys}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """A night of a small fleet. Read it only."""
    return Watched(filled(tmp_path_factory.mktemp("whole"), RUNS))


def test_a_night_trains_publishes_points_and_tells(whole: Watched) -> None:
    metrics = whole.metrics
    assert published_and_pointed(metrics) == (True, True)
    assert metrics["estimator"] == "network"
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    assert metrics["evaluation"]["attempts"] == len(whole.predicted[0]) == 32
    assert metrics["evaluation"]["w20"] > 0.2
    assert metrics["learning"]["recalled"]["shrink"] > 0
    assert whole.artifact().training["estimator"] == NET.settings()


def test_the_same_night_makes_the_same_version(whole: Watched, store: LocalStore) -> None:
    again = Watched(filled(store.root, RUNS))
    assert again.metrics["version"] == whole.metrics["version"]
    assert again.files() == whole.files()


# Ranking.


def asked(family: str, model_type: str) -> tuple[dict[str, Any], Jobs]:
    """A request about a job, and the same as columns."""
    document = request()
    job = document["job"] | {"job_name": family, "model_type": model_type}
    row = {
        **{name: job[name] for name in ("num_trainers", "batch_size", "config", "architecture")},
        "model_type": model_type,
        "family": family_of(family, None),
        "launched_at": parse_time(document["launched_at"]),
    }
    jobs = jobs_of([{**row, "hardware_type": on} for on in TYPES])
    return document | {"job": job}, jobs


@pytest.mark.parametrize(
    ("family", "model_type"),
    [
        *((RUNS[at]["job_name"], RUNS[at]["model_type"]) for at in (10, 200, 300, 319)),
        ("lab/never-ran", "bert"),
        ("lab/never-ran", "of a type that nobody saw"),
    ],
)
def test_a_ranking_says_what_the_night_would_of_the_same_job(
    whole: Watched, family: str, model_type: str
) -> None:
    document, jobs = asked(family, model_type)
    answer = checked(Ranker.from_store(whole.store.root).rank(document))
    ranked = {entry["hardware_type"]: entry["throughput"] for entry in answer["preference"]}
    catalogue, trained = stored_catalogue(whole.store), whole.trained[0]
    assert trained.fitted.memory is not None
    held_out = rows_between(whole.store, DAY, AS_OF).usable()
    parts = (trained.fitted.memory, trained.fitted.model, trained.schema, held_out, catalogue)
    at_night = replace(trained, fitted=replace(trained.fitted, memory=memory_with(*parts)))
    history = whole.artifact().snapshot.lookup(family_hashes(jobs.family))
    before = np.full(3, start_of(AS_OF))
    expected = at_night.predict(jobs, history, catalogue, before)
    assert [ranked[on] for on in TYPES] == pytest.approx(expected.tolist(), rel=1e-5)


def test_what_ships_knows_the_evaluation_day_and_nothing_after_it(whole: Watched) -> None:
    references = whole.artifact().references
    assert references is not None
    for cells in (references.families, references.model_types):
        assert start_of(DAY) <= cells.last.max() < start_of(AS_OF)
    attempts = rows_between(whole.store, AS_OF - timedelta(days=10), AS_OF).usable()
    assert references.families.votes.sum() == len(attempts)
    assert set(references.families.key) == set(family_hashes(attempts.jobs.family))


def test_an_attempt_of_the_evaluation_day_counts_in_a_ranking(tmp_path: Path) -> None:
    last = RUNS[-1] | {"job_name": "lab/ran-that-day-only"}
    rates = []
    for factor in (1.0, 1.5):
        runs = [*RUNS[:-1], last | {"throughput": last["throughput"] * factor}]
        night = Watched(filled(tmp_path / str(factor), runs))
        document, _ = asked(last["job_name"], last["model_type"])
        preference = Ranker.from_store(night.store.root).rank(document)["preference"]
        ranked = {entry["hardware_type"]: entry["throughput"] for entry in preference}
        rates.append(ranked[last["hardware_type"]])
    assert rates[1] > rates[0]


# Nothing of what a night is judged on.


def poisoned(runs: Runs, on: date) -> Runs:
    """The attempts that completed on a day, a thousand times as fast."""
    text = on.isoformat()
    return [
        run | {"throughput": run["throughput"] * 1_000}
        if run["completed_at"].startswith(text)
        else run
        for run in runs
    ]


def test_what_the_evaluation_day_measured_changes_no_prediction_of_it(
    whole: Watched, store: LocalStore
) -> None:
    other = Watched(filled(store.root, poisoned(RUNS, DAY)))
    assert other.predicted[0].tobytes() == whole.predicted[0].tobytes()
    mine, theirs = whole.files(), other.files()
    changed = {name for name in mine if mine[name] != theirs[name]}
    learned = {"networks/network-0.npy", "model.json", "schema.json", "training.json"}
    assert learned <= mine.keys()
    assert not learned & changed
    assert "references/families/rest.npy" in changed


def test_what_the_day_before_measured_does(whole: Watched, store: LocalStore) -> None:
    other = Watched(filled(store.root, poisoned(RUNS, DAY - timedelta(days=1))))
    assert other.predicted[0].tobytes() != whole.predicted[0].tobytes()


def test_a_job_that_was_launched_days_ago_is_judged_by_what_was_known_then(whole: Watched) -> None:
    trained, catalogue = whole.trained[0], stored_catalogue(whole.store)
    attempts = rows_between(whole.store, DAY, AS_OF).usable()
    launches = attempts.jobs.launched_at - 5 * DAY_US
    early = replace(attempts, jobs=replace(attempts.jobs, launched_at=launches))
    parts = (early, outcomes(whole.store, AS_OF), catalogue)
    judged = nightly.judge(trained, *parts, SETTINGS, latest=start_of(DAY))
    assert judged.before.tolist() == cutoffs(launches).tolist()
    memory = trained.fitted.memory
    assert memory is not None
    known = memory.completed_at < judged.before.max()
    assert 100 < known.sum() < len(known) - 100
    forged = replace(memory, rest=np.where(known, memory.rest, 9.0))
    forgetful = replace(trained, fitted=replace(trained.fitted, memory=forged))
    again = nightly.judge(forgetful, *parts, SETTINGS, latest=start_of(DAY))
    assert again.predicted.tobytes() == judged.predicted.tobytes()


def test_a_replayed_night_predicts_what_the_night_did(whole: Watched) -> None:
    past = read_past(whole.store, SETTINGS, 1, DAY, 1)
    replayed = past.night(DAY, SETTINGS)
    predicted = replayed.predicted_by(NET, replayed.rows)
    np.testing.assert_allclose(predicted, whole.predicted[0], rtol=1e-6)


def test_a_replayed_night_without_history_recalls_nothing(whole: Watched) -> None:
    replayed = read_past(whole.store, SETTINGS, 1, DAY, 1).night(DAY, SETTINGS)
    without = ("history",)
    predicted = replayed.predicted_by(NET, replayed.rows_without(without), without)
    assert np.all(np.isfinite(predicted))
    assert np.abs(np.log(predicted / whole.predicted[0])).max() > 1e-3


def online(store: LocalStore) -> Night:
    past = read_past(store, SETTINGS, 1, DAY, 1)
    return past.night(DAY, SETTINGS, online_history=True)


def test_with_online_history_each_job_sees_what_completed_before_its_launch(
    tmp_path: Path,
) -> None:
    few = [run | {"job_family": f"{run['model_type']} on {run['hardware_type']}"} for run in RUNS]
    altered = parse_time("2026-01-10T10:00:00Z")
    late = [
        run | {"throughput": run["throughput"] * 3}
        if parse_time(run["completed_at"]) >= altered
        else run
        for run in few
    ]
    stores = [filled(tmp_path / name, runs) for name, runs in (("honest", few), ("late", late))]
    honest, other = (online(store) for store in stores)
    one, two = (of.predicted_by(NET, of.rows) for of in (honest, other))
    launched = honest.jobs.jobs.launched_at
    early = launched <= altered
    assert 5 < early.sum() < len(early) - 5
    assert one[early].tobytes() == two[early].tobytes()
    assert np.any(one[~early] != two[~early])
    offline = read_past(stores[0], SETTINGS, 1, DAY, 1).night(DAY, SETTINGS)
    assert np.any(offline.predicted_by(NET, offline.rows) != one)


# Odd days.


def test_a_day_without_a_usable_measurement_is_no_error(tmp_path: Path) -> None:
    text = DAY.isoformat()
    unusable = [
        run | {"throughput": None} if run["completed_at"].startswith(text) else run for run in RUNS
    ]
    metrics = night(filled(tmp_path, unusable), settings=SETTINGS)
    assert metrics["evaluation"]["attempts"] == 0
    assert metrics["evaluation"]["w20"] is None
    assert published_and_pointed(metrics) == (True, False)


def test_the_live_model_is_judged_on_what_it_knew_before_the_day(tmp_path: Path) -> None:
    store = filled(tmp_path, fleet(352, days=11))
    first = Watched(store)
    assert (first.live, published_and_pointed(first.metrics)) == ([], (True, True))
    second = Watched(store, as_of=LATER)
    (judged,) = second.live
    pointer = pointer_of(store)
    assert pointer is not None
    assert second.metrics["live"]["version"] == first.metrics["version"]
    jobs = rows_between(store, AS_OF, LATER).usable().jobs
    artifact = first.artifact()
    assert artifact.references is not None
    assert artifact.references.families.last.max() < jobs.launched_at.max()
    assert judged.shape == (len(jobs),)


@pytest.mark.parametrize("as_of", [AS_OF, LATER])
def test_a_live_model_that_recalls_the_evaluation_day_is_not_scored_on_it(
    tmp_path: Path, as_of: date
) -> None:
    store = filled(tmp_path, RUNS)  # nothing completed on the day after the tenth
    assert published_and_pointed(Watched(store).metrics) == (True, True)
    again = Watched(store, as_of=as_of)
    assert again.live == []
    assert again.metrics["live"]["evaluation"] is None
    assert "recalls" in again.metrics["live"]["reason"]


def test_days_of_a_cell_end_with_the_night(whole: Watched) -> None:
    references = whole.artifact().references
    assert references is not None
    days = np.unique(references.families.last // DAY_US * DAY_US)
    assert days.max() == start_of(DAY)
