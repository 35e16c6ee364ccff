"""A configuration that tells the hardware which a job was written for does not decide for it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.retrain.learning.descent import Together
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.network import ResidualNetwork, fit_network, rows_of, together
from leap_model.columns import Floats
from tests.support import filled, fleet
from tests.unit.learning.nets import NET, training_of

CORES = {"fast-8": 64, "mid-8": 32, "slow-4": 16}
LONGER = replace(NET, width=24, least_steps=600, most_steps=600)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    """Attempts whose configuration describes the host that they ran on."""

    def described(entry: dict[str, Any]) -> dict[str, Any]:
        name = entry["hardware_type"]
        host = {"host": f"host of {name}", "cores": CORES[name]}
        return entry | {"config": {**entry.get("config", {}), **host}}

    attempts = [described(entry) for entry in fleet(420)]
    return training_of(filled(tmp_path_factory.mktemp("described"), attempts))


def _moved(estimator: ResidualNetwork, training: TrainingSet) -> Floats:
    """(n,) how far predictions move, in logarithms, when each job is described as on another."""
    rows = rows_of(training, LONGER.scale)
    network, _ = fit_network(estimator, rows, np.ones(len(training), bool), 0)
    names = rows.schema.names
    columns = [at for at, name in enumerate(names) if name.endswith((".host", ".cores"))]
    assert len(columns) == 2
    other = rows.matrix.copy()
    other[:, columns] = np.roll(rows.matrix[:, columns], 1, axis=0)
    changed = np.any(other[:, columns] != rows.matrix[:, columns], axis=1)
    moved: Floats = np.abs(network.score(other) - network.score(rows.matrix))[changed, 0]
    return moved


def test_a_job_described_as_on_another_type_is_predicted_nearly_the_same(
    training: TrainingSet,
) -> None:
    hiding = _moved(replace(LONGER, hide_config=0.3), training)
    believing = _moved(replace(LONGER, hide_config=0.0), training)
    assert np.median(hiding) < 0.1
    assert np.median(hiding) < 0.5 * np.median(believing)


def test_a_configuration_is_left_out_whole_and_nothing_else_is(training: TrainingSet) -> None:
    rows = rows_of(training, LONGER.scale)
    names, shape = rows.schema.names, LONGER.shape(rows)
    found = together(shape, names, 1.0)
    numbers = [names[shape.numbers[at]] for at in found.numbers]
    categories = [shape.categories[at][0] for at in found.categories]
    said = {*numbers, *(names[column] for column in categories)}
    assert said == {name for name in names if name.split(".")[0] in ("config", "config_text")}
    assert {names[shape.numbers[shape.gaps[at]]] for at in found.gaps} <= said


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_what_is_left_out_of_a_row_is_missing_there(chance: float) -> None:
    numbers, gaps = np.full((200, 3), 7.0, np.float32), np.zeros((200, 2), np.float32)
    hidden = np.zeros((200, 2), bool)
    left_out = Together(chance, numbers=(0, 2), gaps=(1,), categories=(0,))
    left_out.left_out(200, (numbers, gaps), hidden, np.random.default_rng(0))
    gone = hidden[:, 0]
    assert abs(gone.mean() - chance) < 0.1
    assert np.array_equal(numbers[:, 0] == 0, gone)
    assert np.array_equal(numbers[:, 2] == 0, gone)
    assert np.array_equal(gaps[:, 1] == 1, gone)
    assert (numbers[:, 1] == 7).all()
    assert not gaps[:, 0].any()
    assert not hidden[:, 1].any()
