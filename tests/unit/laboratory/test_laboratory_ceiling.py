"""The ceiling estimated from repeats against the one that the noise-free truth gives."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from bench.laboratory.judging import best_share
from bench.laboratory.truth import read_truth
from functions.retrain.ceiling import noise_of
from functions.retrain.dataset import Attempts
from functions.retrain.nights import read_past
from functions.retrain.settings import Settings
from leap_model.columns import Floats
from tests.unit.laboratory.conftest import simulated_fleet

FIRST, DAYS = date(2026, 1, 1), 10
NOISE: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "as it is": lambda draw, noise: noise,
    "one and a half times": lambda draw, noise: 1.5 * noise,
    "twice": lambda draw, noise: 2 * noise,
    "even": lambda draw, noise: draw.normal(0, 0.12, len(noise)),
    "laplace": lambda draw, noise: draw.laplace(0, 0.07, len(noise)),
    "one in twenty slow": lambda draw, noise: (
        noise - (draw.random(len(noise)) < 0.05) * draw.uniform(0.2, 1.2, len(noise))
    ),
}


@pytest.fixture(scope="module", params=[1, 2])
def attempts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Attempts, Floats]:
    """The measured attempts of ten days, and their noise-free throughput."""
    fleet = simulated_fleet(tmp_path_factory.mktemp("ceiling"), DAYS, 2_000, request.param)
    past = read_past(fleet.store, Settings(), 1, FIRST, DAYS)
    measured = past.records.unseen_between(FIRST, FIRST + timedelta(days=DAYS)).usable()
    days = [FIRST + timedelta(days=at) for at in range(DAYS)]
    truth = read_truth(fleet.truth, days, past.ids(FIRST), past.catalogue)
    used = measured.jobs.hardware_type
    return measured, truth.on([used.values[code] for code in used.codes])


@pytest.mark.parametrize("kind", NOISE)
def test_the_estimate_is_near_the_truth(attempts: tuple[Attempts, Floats], kind: str) -> None:
    measured, true = attempts
    draw = np.random.default_rng(1)
    noise = NOISE[kind](draw, np.log(measured.measured / true))
    noisy = replace(measured, measured=true * np.exp(noise))
    found = noise_of(noisy)
    assert found is not None
    ceiling = found.ceiling(noisy)
    assert ceiling is not None
    reachable = best_share(true / noisy.measured)
    assert 0.75 < reachable < 0.99
    # Two points with some thousand groups, as docs/laboratory.md shows; here there are about one.
    assert ceiling["w20"] == pytest.approx(reachable, abs=0.025)
