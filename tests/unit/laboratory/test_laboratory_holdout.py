"""Held out groups: who is in them, what a model is not shown, and what it loses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.laboratory.holdout import Kept, groups, held_out, night_of
from bench.laboratory.judging import Exam, set_exam
from bench.laboratory.methods import Method
from bench.laboratory.results import Results
from functions.retrain.nights import Night, read_past
from leap_model.columns import Floats, Labels
from tests.unit.laboratory.conftest import LAST, QUICK, Fleet


@pytest.fixture(scope="module")
def exam(simulated: Fleet) -> Exam:
    past = read_past(simulated.store, QUICK, 1, LAST, 1)
    return set_exam(past.night(LAST, QUICK), past.ids(LAST), simulated.truth, 1_000)


def _used(night: Night) -> list[str]:
    labels = night.training.jobs.hardware_type
    return [labels.values[code] for code in labels.codes]


def test_groups_are_the_commonest_of_the_night(exam: Exam) -> None:
    night = exam.night
    found = list(groups(night, len(night.jobs), "hardware", 3, 1))
    counts = [int(group.asked.sum()) for group in found]
    assert counts == sorted(counts, reverse=True)
    for group in found:
        assert {_used(night)[row] for row in np.flatnonzero(group.trained)} == {group.name}
        assert group.trained.sum() == _used(night).count(group.name)
    least = counts[-1] + 1
    assert all(
        group.asked.sum() >= least and group.trained.sum() >= least
        for group in groups(night, len(night.jobs), "hardware", 30, least)
    )


def test_a_family_of_models_is_the_first_word_of_the_type(exam: Exam) -> None:
    night = exam.night
    names = ["Ranker-v1", "Ranker_v2", "ranker", "gpt3.5", "gpt3", "_x", "é1-b"]
    rows = np.arange(len(night.training)) % len(names)
    labels = Labels(rows.astype(np.int32), tuple(names))
    training = replace(night.training, jobs=replace(night.training.jobs, model_type=labels))
    asked = replace(
        night.jobs,
        jobs=replace(
            night.jobs.jobs,
            model_type=Labels.of([names[at % len(names)] for at in range(len(night.jobs))]),
        ),
    )
    named = replace(night, training=training, jobs=asked)
    found = {group.name: group for group in groups(named, len(night.jobs), "model", 9, 1)}
    assert set(found) == {"Ranker", "ranker", "gpt3", "_x", "é1"}
    assert set(rows[found["Ranker"].trained]) == {0, 1}


def test_a_model_is_shown_neither_rows_nor_history_of_what_is_held_out(exam: Exam) -> None:
    (group,) = groups(exam.night, len(exam.night.jobs), "hardware", 1, 1)
    without = night_of(exam.night, ~group.trained)
    assert group.name not in _used(without)
    assert len(without.rows) == len(exam.night.rows) - group.trained.sum()
    assert len(without.outcomes.family) == len(without.training)
    assert (without.history.runs <= night_of(exam.night, group.trained | True).history.runs).all()
    assert (without.history.runs < exam.night.history.runs).any()


def test_the_three_models_learn_from_all_without_and_as_many(exam: Exam) -> None:
    seen: list[list[str]] = []
    assert exam.asked is not None
    jobs = exam.asked.night.jobs

    def median(night: Night) -> Floats:
        seen.append(_used(night))
        assert night.jobs is jobs
        return np.full(len(jobs), float(np.median(night.training.measured)))

    chosen = list(groups(exam.night, len(exam.night.jobs), "hardware", 2, 1))
    heard: list[str] = []
    told = held_out(exam, Method("median", {}, median), chosen, 0, heard.append)
    whole, *rest = seen
    assert heard == [f"hardware {group.name}" for group in chosen]
    assert len(whole) == len(exam.night.training)
    for at, (group, entry) in enumerate(zip(chosen, told, strict=True)):
        without, random = rest[2 * at : 2 * at + 2]
        assert group.name not in without
        assert group.name in random
        assert len(without) == len(random) == len(whole) - entry["rows"]
        assert entry["attempts"] == group.asked.sum()
        measured = exam.night.jobs.measured[group.asked]
        said = np.median(exam.night.training.measured)
        near = np.mean(np.abs(said / measured - 1) <= 0.2)
        assert entry["all"]["w20"] == pytest.approx(near)
        assert entry["all"]["regret"] >= 0


def test_without_truth_there_is_no_regret(exam: Exam) -> None:
    blind = replace(exam, asked=None, stakes=None)
    (group,) = groups(exam.night, len(exam.night.jobs), "model", 1, 1)
    method = Method("one", {}, lambda night: np.ones(len(night.jobs)))
    (entry,) = held_out(blind, method, [group], 0)
    assert {entry[part]["regret"] for part in ("all", "without", "random")} == {None}


def test_groups_that_are_kept_are_not_made_again(exam: Exam, tmp_path: Path) -> None:
    fitted: list[int] = []

    def median(night: Night) -> Floats:
        fitted.append(len(night.training))
        return np.full(len(night.jobs), float(np.median(night.training.measured)))

    method = Method("median", {}, median)
    chosen = list(groups(exam.night, len(exam.night.jobs), "hardware", 3, 1))
    kept = Kept(Results(tmp_path, "fleet"), LAST, method, {"seed": 0})
    alone = held_out(exam, method, chosen, 0)
    fitted.clear()
    held_out(exam, method, chosen[1:2], 0, kept=kept)
    assert len(fitted) == 3
    assert held_out(exam, method, chosen, 0, kept=kept) == alone
    assert len(fitted) == 3 + 1 + 2 * 2
    assert held_out(exam, method, chosen, 0, kept=kept) == alone
    assert len(fitted) == 3 + 1 + 2 * 2
    other = replace(kept, settings={"seed": 1})
    assert [other.read(group) for group in chosen] == [None] * 3
    another = replace(kept, method=Method("median", {"trees": 1}, median))
    assert another.read(chosen[0]) is None
