"""What permuted columns cost: nothing where the model does not look, in a bounded time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.retrain import importance as module
from functions.retrain.importance import group_of, importance
from functions.retrain.training import Trained
from tests.support import filled, fleet
from tests.unit.retrain.nights import Case, judged_case


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A model of a fleet whose throughput hangs on the hosts, the model and the hardware."""
    return judged_case(filled(tmp_path_factory.mktemp("importance"), fleet(900)))


def _ticking(step: float) -> Any:
    def ticks() -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += step

    return ticks().__next__


def test_what_throughput_hangs_on_costs_and_what_it_does_not_costs_nothing(case: Case) -> None:
    found = importance(*case, seed=0, clock=_ticking(0.0))
    assert found is not None
    assert found["w20"] > 0.9
    assert found["groups"]["scale"] > 0.2
    assert found["columns"]["job.num_trainers"] > -0.05
    assert abs(found["columns"]["config.lr"]) < 0.1
    assert found["columns"].keys() == set(case[0].schema.names)
    assert found["left_out"] == 0


def test_the_w20_is_that_of_the_predictions_and_nothing_is_changed(case: Case) -> None:
    trained, judged, catalogue = case
    within = np.abs(judged.predicted / judged.attempts.measured - 1) <= 0.20
    found = importance(trained, judged, catalogue, seed=3)
    assert found is not None
    assert found["w20"] == pytest.approx(within.mean())
    parts = (judged.attempts.jobs, judged.history, catalogue, judged.before)
    again = trained.predict(*parts)
    assert again.tolist() == judged.predicted.tolist()


def test_the_seed_decides_and_nothing_else(case: Case) -> None:
    first, again, other = (importance(*case, seed=s, clock=_ticking(0)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_what_was_known_is_not_asked_anew_and_costs_no_column_its_turn(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the attempts' judgement has it")

    monkeypatch.setattr(Trained, "known", refused)
    found = importance(*case, seed=0, clock=_ticking(module.BUDGET_S / 3))
    assert found is not None
    assert len(found["columns"]) == 2


def test_time_that_is_up_leaves_columns_out_and_counts_them(case: Case) -> None:
    found = importance(*case, seed=0, budget_s=3.5, clock=_ticking(1.0))
    assert found is not None
    assert len(found["columns"]) == 3
    assert found["left_out"] == len(case[0].schema.names) - 3
    most = max(found["groups"], key=lambda name: found["groups"][name])
    assert {group_of(name) for name in found["columns"]} & {most}
    assert found["groups"].keys() == {group_of(name) for name in case[0].schema.names}


def test_attempts_are_bounded(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ATTEMPTS", 20)
    found = importance(*case, seed=0)
    assert found is not None
    assert found["attempts"] == 20


@pytest.mark.parametrize("count", [0, 1])
def test_of_fewer_than_two_attempts_there_is_none(case: Case, count: int) -> None:
    trained, judged, catalogue = case
    rows = np.arange(count)
    few = replace(
        judged,
        attempts=judged.attempts.take(rows),
        history=judged.history.take(rows),
        predicted=judged.predicted[rows],
    )
    assert importance(trained, few, catalogue, seed=0) is None


@pytest.mark.parametrize(
    ("column", "group"),
    [
        *(
            ("job.num_trainers", "scale"),
            ("ratio.log_peak", "scale"),
            ("job.model_type", "model type"),
        ),
        *(
            ("ratio.roofline", "ratios"),
            ("history.last", "history"),
            ("hardware.vendor", "hardware"),
        ),
        *(("config_text.a.b", "config"), ("config.x", "config"), ("allocation.x", "allocation")),
        *(("allocation_text.x", "allocation"), ("architecture.params_m", "architecture")),
    ],
)
def test_every_source_of_columns_has_a_group(column: str, group: str) -> None:
    assert group_of(column) == group
