"""Rules of thumb: each recovers the law that it assumes, and is silent where it knows nothing."""

from dataclasses import replace

import numpy as np
import pytest

from bench.laboratory import methods
from bench.laboratory.rules import RULES, Known, bound, efficiencies, known_of
from functions.retrain.nights import Night, read_past
from leap_model.columns import Floats
from tests.unit.laboratory.conftest import LAST, QUICK, Fleet

COUNT = 400


@pytest.fixture
def known() -> Known:
    """Jobs of five models on four types of unlike peak."""
    draw = np.random.default_rng(3)
    types = draw.integers(0, 4, COUNT)
    models = draw.integers(0, 5, COUNT)
    accelerators = draw.integers(0, 5, COUNT) * np.log(2)
    peak = 30 + 0.5 * types + accelerators
    return Known(
        compute=peak - 20 - models,
        memory=draw.normal(9, 2, COUNT),
        exchange=draw.normal(9, 2, COUNT),
        peak=peak,
        accelerators=accelerators,
        batch=draw.integers(3, 6, COUNT) * np.log(2),
        type=tuple(f"type-{at}" for at in types),
        model=tuple(f"model-{at}" for at in models),
    )


def _models(known: Known) -> Floats:
    return np.array([int(name[-1]) for name in known.model], np.float64)


def _some(known: Known, rows: slice, **changed: object) -> Known:
    parts = {name: getattr(known, name)[rows] for name in Known.__dataclass_fields__ if name != "_"}
    return Known(**(parts | changed))


def test_the_peak_rule_finds_its_one_efficiency(known: Known) -> None:
    said = RULES["peak-rule"](known, known.compute - 1.5, _some(known, slice(10)))
    np.testing.assert_allclose(said, known.compute[:10] - 1.5)


def test_a_constant_of_the_model_needs_no_operations(known: Known) -> None:
    values = known.peak - 3 - np.sqrt(_models(known))
    blind = _some(known, slice(10), compute=np.full(10, np.nan))
    np.testing.assert_allclose(RULES["peak-by-model"](known, values, blind), values[:10])


def test_a_model_never_trained_on_gets_the_rule_of_all(known: Known) -> None:
    values = known.compute - 1.5
    new = _some(known, slice(10), model=("another",) * 10)
    for name in ("peak-rule", "peak-by-model"):
        np.testing.assert_allclose(RULES[name](known, values, new), values[:10])
    fitted = efficiencies(known, values)
    np.testing.assert_allclose(RULES["roofline-by-model"](known, values, new), bound(new, fitted))
    assert np.isnan(RULES["scaling-rule"](known, values, new)).all()


@pytest.mark.parametrize("true", [(-1.0, -0.4, -2.0), (-0.3, -2.5, 0.4)])
def test_three_efficiencies_are_found_where_each_bound_limits(
    known: Known, true: tuple[float, float, float]
) -> None:
    values = bound(known, np.array(true))
    fitted = efficiencies(known, values)
    np.testing.assert_allclose(fitted, true, atol=0.1)
    said = RULES["roofline-rule"](known, values, known)
    assert np.mean(np.abs(said - values)) < 0.05


def test_unknown_memory_and_exchange_do_not_limit_and_unknown_compute_has_no_answer(
    known: Known,
) -> None:
    nothing = np.full(COUNT, np.nan)
    alone = replace(known, memory=nothing, exchange=nothing)
    np.testing.assert_allclose(bound(alone, np.array([-1.0, 0, 0])), known.compute - 1)
    assert np.isnan(bound(replace(known, compute=nothing), np.zeros(3))).all()


def test_scaling_takes_the_same_type_before_a_nearer_job_on_another(known: Known) -> None:
    trained = replace(
        _some(known, slice(3)),
        **{name: np.zeros(3) for name in ("accelerators", "batch")},
        peak=np.array([1.0, 2.0, 9.0]),
        type=("a", "b", "b"),
        model=("m", "m", "other"),
    )
    trained = replace(trained, accelerators=np.log([8.0, 1.0, 1.0]))
    trained = replace(trained, peak=trained.accelerators + np.array([1.0, 2.0, 9.0]))
    values = np.array([5.0, 7.0, 100.0])
    asked = _some(
        trained,
        slice(2),
        type=("a", "c"),
        model=("m", "m"),
        accelerators=np.log([2.0, 2.0]),
        peak=np.log([2.0, 2.0]) + np.array([1.0, 2.5]),
        batch=np.zeros(2),
    )
    own, new = RULES["scaling-rule"](trained, values, asked)
    assert own == pytest.approx(5.0 - np.log(8) + np.log(2))
    assert new == pytest.approx(7.0 + 0.5 + np.log(2))  # b's job is nearer than a's, and c faster


def test_scaling_never_scales_from_a_type_of_unknown_peak(known: Known) -> None:
    trained = replace(_some(known, slice(2)), model=("m", "m"), type=("a", "b"))
    trained = replace(trained, peak=np.array([np.nan, 30.0]))
    values = np.array([1.0, 2.0])
    own = _some(trained, slice(1))
    assert RULES["scaling-rule"](trained, values, own) == pytest.approx([1.0])
    other = replace(own, type=("c",), peak=np.array([30.0]))
    (said,) = RULES["scaling-rule"](trained, values, other)
    per_accelerator = 2.0 - 30.0  # log rate over log peak of b's job
    assert said == pytest.approx(per_accelerator + 30.0)
    nowhere = replace(trained, peak=np.full(2, np.nan))
    assert np.isnan(RULES["scaling-rule"](nowhere, values, other)).all()


@pytest.mark.parametrize("name", list(RULES))
def test_a_rule_is_a_method_and_sees_no_measurement_of_the_jobs(
    simulated: Fleet, name: str
) -> None:
    night = read_past(simulated.store, QUICK, 1, LAST, 1).night(LAST, QUICK)
    blind = np.full(len(night.jobs), np.nan)
    hidden: Night = replace(night, jobs=replace(night.jobs, measured=blind))
    said = methods.method(name).predict(hidden)
    np.testing.assert_array_equal(said, methods.method(name).predict(night))
    assert len(said) == len(night.jobs)
    assert (said[~np.isnan(said)] > 0).all()
    assert np.mean(~np.isnan(said)) > 0.5
    known = known_of(night.jobs.jobs, night.catalogue)
    assert len(known.type) == len(night.jobs)
