"""Targets: what counts as a measurement of each, and in what unit it is predicted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from leap_model.artifact import Artifact, load, pack, publish
from leap_model.errors import ArtifactError
from leap_model.store import LocalStore
from leap_model.targets import TARGETS
from tests.unit.leap_model.builders import tiny_artifact

THROUGHPUT, UTILIZATION = TARGETS["throughput"], TARGETS["utilization"]
NEVER = (0.0, -0.0, -1.0, -np.inf, np.inf, np.nan)


def test_two_targets_are_known_each_by_its_own_name() -> None:
    assert {name: target.name for name, target in TARGETS.items()} == {
        "throughput": "throughput",
        "utilization": "utilization",
    }


def _usable(target: str, value: float) -> bool:
    (result,) = TARGETS[target].usable(np.array([value])).tolist()
    assert result == value or np.isnan(result)
    return not np.isnan(result)


@pytest.mark.parametrize("value", [1e-9, 0.5, 1.0, 1234.5, 1e300])
def test_any_throughput_from_the_least_on_is_usable(value: float) -> None:
    assert _usable("throughput", value)


@pytest.mark.parametrize("value", [*NEVER, np.nextafter(1e-9, 0)])
def test_what_is_no_throughput_is_not_usable(value: float) -> None:
    assert not _usable("throughput", value)


@pytest.mark.parametrize("value", [1e-6, 0.5, np.nextafter(1, 0), 1.0])
def test_any_utilization_from_the_least_to_one_is_usable(value: float) -> None:
    assert _usable("utilization", value)


@pytest.mark.parametrize("value", [*NEVER, np.nextafter(1e-6, 0), np.nextafter(1, 2), 87.5])
def test_what_is_no_utilization_is_not_usable(value: float) -> None:
    assert not _usable("utilization", value)


def test_unusable_values_leave_their_neighbours_and_their_source_alone() -> None:
    values = np.array([0.25, -1.0, np.nan, 1.0])
    np.testing.assert_array_equal(UTILIZATION.usable(values), [0.25, np.nan, np.nan, 1.0])
    np.testing.assert_array_equal(values, [0.25, -1.0, np.nan, 1.0])


def test_a_prediction_is_the_exponential_of_its_log() -> None:
    values = np.array([1e-6, 0.25, 1.0])
    for target in TARGETS.values():
        np.testing.assert_allclose(target.of_log(np.log(values)), values, rtol=1e-12)


def test_no_predicted_utilization_is_above_one_and_throughput_may_be() -> None:
    logs = np.log(np.array([0.5, 1.0, 1.5, 1e9]))
    assert UTILIZATION.of_log(logs).tolist() == pytest.approx([0.5, 1.0, 1.0, 1.0])
    assert UTILIZATION.of_log(logs).max() <= 1.0
    assert THROUGHPUT.of_log(logs).tolist() == pytest.approx([0.5, 1.0, 1.5, 1e9])


def _published(store: LocalStore, artifact: Artifact) -> Artifact:
    publish(store, "models/any/v", pack(artifact))
    return load(store.folder("models/any/v"))


@pytest.mark.parametrize("target", TARGETS)
def test_an_artifact_knows_its_target(store: LocalStore, target: str) -> None:
    assert _published(store, tiny_artifact(target=target)).target is TARGETS[target]


@pytest.mark.parametrize("target", ["cost_usd", "Throughput", "", None, 1, ["throughput"], {}])
def test_an_artifact_of_an_unknown_target_does_not_load(store: LocalStore, target: Any) -> None:
    with pytest.raises(ArtifactError, match=r"which nothing here reads|malformed"):
        _published(store, tiny_artifact(target=target))


def test_an_artifact_without_a_target_does_not_load(store: LocalStore) -> None:
    whole = tiny_artifact()
    bare = {name: value for name, value in whole.training.items() if name != "target"}
    with pytest.raises(ArtifactError, match="malformed"):
        _published(store, replace(whole, training=bare))
