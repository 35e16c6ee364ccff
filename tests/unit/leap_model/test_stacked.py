"""Networks as a stack: bit for bit what each says by itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from leap_model.columns import Floats
from leap_model.errors import ArtifactError
from leap_model.model import Model, Strangers
from leap_model.network import Network, Shape
from leap_model.stacked import MOST_ROWS, Stacked
from tests.unit.leap_model.residual import COLUMNS, SHAPE, network_of, rows_of

BARE = Shape(numbers=(0,), gaps=(), categories=(), width=3, blocks=1, vector=2)
NAMES_ONLY = Shape(numbers=(), gaps=(), categories=((1, 3),), width=3, blocks=1, vector=2)
LARGE = replace(SHAPE, width=128, blocks=3, vector=12)


def members(shape: Shape, count: int = 3) -> dict[str, Network]:
    """Networks that read numbers alike, as those of one training do."""
    first = network_of(shape)
    scales = {name: first.parameters[name] for name in ("knee", "center", "spread")}
    return {
        f"network-{seed}": Network(shape, {**network_of(shape, seed).parameters, **scales})
        for seed in range(count)
    }


@pytest.mark.parametrize("rows", [0, 1, 2, 20, MOST_ROWS])
@pytest.mark.parametrize(
    "shape", [SHAPE, BARE, NAMES_ONLY, LARGE], ids=["all", "numbers", "categories", "large"]
)
def test_a_stack_says_what_each_network_says(shape: Shape, rows: int) -> None:
    networks, matrix = members(shape), rows_of(rows)
    stacked = Stacked.of(networks)
    assert stacked is not None
    told = stacked.score(matrix)
    assert list(told) == list(networks)
    for name, network in networks.items():
        assert told[name].tobytes() == network.score(matrix).tobytes()
        assert told[name].shape == (rows, 1)
        assert told[name].dtype == np.float64
    assert len({values.tobytes() for values in told.values()}) == (3 if rows else 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda network: network_of(replace(SHAPE, blocks=1)),
        lambda network: changed(network, "knee"),
        lambda network: changed(network, "center"),
        lambda network: changed(network, "spread"),
    ],
    ids=["shape", "knee", "center", "spread"],
)
def test_networks_that_read_numbers_otherwise_are_no_stack(
    change: Callable[[Network], Network],
) -> None:
    networks = members(SHAPE)
    assert Stacked.of({**networks, "network-2": change(networks["network-2"])}) is None


def test_one_network_is_no_stack() -> None:
    assert Stacked.of(members(SHAPE, 1)) is None
    assert Stacked.of({}) is None


@pytest.mark.parametrize("rows", [20, MOST_ROWS, MOST_ROWS + 1])
def test_a_model_says_the_same_of_few_rows_and_of_many(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, matrix = members(SHAPE), rows_of(rows)
    model = Model.of_networks(list(networks.values()), COLUMNS, None).checked()
    expected = sum(network.score(matrix)[:, 0] for network in networks.values()) / 3
    alone: list[Network] = []
    score = Network.score

    def noted(network: Network, matrix: Floats) -> Floats:
        alone.append(network)
        return score(network, matrix)

    monkeypatch.setattr(Network, "score", noted)
    np.testing.assert_allclose(model.predict(matrix), expected, rtol=1e-12)
    assert len(alone) == (0 if rows <= MOST_ROWS else 3)


STRANGERS = Strangers([network_of(SHAPE, 7)], 4, 2)


@pytest.mark.parametrize("rows", [20, MOST_ROWS + 1])
def test_strangers_are_asked_of_those_rows_alone_that_have_none_of_the_codes(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, matrix = list(members(SHAPE).values()), rows_of(rows)
    model = Model.of_networks(networks, COLUMNS, None, strangers=STRANGERS).checked()
    without = Model.of_networks(networks, COLUMNS, None).predict(matrix)
    unnamed = ~(matrix[:, 4] < 2)
    assert 0 < unnamed.sum() < rows
    asked: list[int] = []
    score = Network.score

    def noted(network: Network, matrix: Floats) -> Floats:
        if network is STRANGERS.networks[0]:
            asked.append(len(matrix))
        return score(network, matrix)

    monkeypatch.setattr(Network, "score", noted)
    found = model.predict(matrix)
    assert asked == [unnamed.sum()]
    assert found[~unnamed].tobytes() == without[~unnamed].tobytes()
    expected = score(STRANGERS.networks[0], matrix[unnamed])[:, 0]
    assert found[unnamed].tobytes() == expected.tobytes()
    model.predict(matrix[~unnamed])
    assert asked == [unnamed.sum()]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("of", name) for name in ("nowhere", None)),
        *(("networks", names) for names in ([], ["nowhere"], None, 3)),
        *(("column", at) for at in (-1, COLUMNS, 1.0, None)),
        *(("codes", codes) for codes in (-1, 1.5, "2", None)),
    ],
    ids=str,
)
def test_strangers_that_do_not_fit_are_refused(part: str, value: Any) -> None:
    model = Model.of_networks(list(members(SHAPE).values()), COLUMNS, None, strangers=STRANGERS)
    steps = [{**step, part: value} if step["op"] == "strangers" else step for step in model.steps]
    with pytest.raises(ArtifactError, match="do not fit together"):
        Model(COLUMNS, steps, {}, model.networks).checked()


def changed(network: Network, name: str) -> Network:
    """The network with another value of one parameter."""
    values = network.parameters[name].copy()
    values[-1] += np.float32(0.25)
    return Network(network.shape, {**network.parameters, name: values})
