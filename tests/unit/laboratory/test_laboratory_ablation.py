"""Each part that an ablation leaves out is one part, and the rest still learns and answers."""

from dataclasses import replace

import numpy as np
import pytest

from bench.laboratory import methods
from bench.laboratory.ablation import ABLATION
from functions.retrain.ladder import judged_on
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.presets import ESTIMATORS
from functions.retrain.nights import read_past
from tests.unit.laboratory.conftest import LAST, QUICK, Fleet

ONE = ABLATION["network-one"]
REST = sorted(ABLATION.keys() - {"network-one"})


def test_what_parts_are_left_out_of_is_the_network_that_serves_with_one_member() -> None:
    served = dict(ESTIMATORS["network"].settings())
    assert {**ONE.estimator.settings(), "name": "network", "members": served["members"]} == served
    assert ONE.without == ()


@pytest.mark.parametrize("name", REST)
def test_one_part_is_left_out_at_a_time(name: str) -> None:
    rung, same = ABLATION[name], ONE.estimator.settings()
    changed = {key for key, value in rung.estimator.settings().items() if value != same[key]}
    groups = {key.split("_")[0] if key.startswith("hide") else key for key in changed - {"name"}}
    assert len(groups) + len(rung.without) == 1 or groups == {"decay", "vector_decay"}
    assert rung.estimator.settings()["name"] == name


@pytest.mark.parametrize("name", sorted(ABLATION))
def test_without_a_part_it_still_answers(name: str, simulated: Fleet) -> None:
    night = read_past(simulated.store, QUICK, 1, LAST, 1).night(LAST, QUICK)
    assert methods.method(name).judge is not None
    rung = ABLATION[name]
    assert isinstance(rung.estimator, ResidualNetwork)
    quick = replace(rung.estimator, width=8, least_steps=5, most_steps=5)
    judged = judged_on(night, replace(rung, estimator=quick))
    assert np.all(judged.predicted > 0)
    assert np.all(np.isfinite(judged.predicted))
