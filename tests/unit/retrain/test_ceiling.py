"""The noise ceiling: what repeats are, and that the estimate is what the noise allows."""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from functions.retrain import repeats as grouping
from functions.retrain.ceiling import Noise, noise_of
from functions.retrain.dataset import Attempts
from functions.retrain.evaluation import evaluate
from functions.retrain.repeats import MOST_OF_A_GROUP, repeats
from leap_model.columns import Floats, Ints, Jobs, Labels, Objects, Open
from leap_model.limits import DAY_US

Draw = np.random.Generator


def _attempts(
    log_value: Floats,
    family: Ints,
    *,
    completed_at: Ints | None = None,
    model: Ints | None = None,
    **values: Any,
) -> Attempts:
    """Attempts that differ in family, time, and what is told."""
    rows = len(log_value)
    names = Labels.of(f"family {code}" for code in family)
    kinds = Labels.of(f"model {code}" for code in (family % 20 if model is None else model))
    when = np.arange(rows, dtype=np.int64) * min(DAY_US // 24, 30 * DAY_US // max(rows, 1))
    when = when if completed_at is None else completed_at
    nothing = Objects(rows, {})
    jobs = Jobs(
        model_type=kinds,
        hardware_type=Labels.of(["fast"] * rows),
        family=names,
        num_trainers=values.get("hosts", np.ones(rows)),
        batch_size=values.get("batch", np.full(rows, 32.0)),
        accelerators_per_host=np.full(rows, np.nan),
        launched_at=when,
        config=values.get("config", nothing),
        allocation=values.get("allocation", nothing),
        architecture=nothing,
    )
    return Attempts(jobs, when, np.exp(log_value), np.full(rows, np.nan))


def _numbers(**columns: Floats) -> Objects:
    missing = {
        name: Labels(np.full(len(values), -1, np.int32), ()) for name, values in columns.items()
    }
    rows = len(next(iter(columns.values())))
    return Objects(rows, {name: Open(columns[name], missing[name]) for name in columns})


def _groups(attempts: Attempts) -> list[list[float]]:
    found = repeats(attempts)
    ordered = np.round(np.exp(found.log_value), 6)
    return sorted(ordered[found.group == at].tolist() for at in range(len(found.family)))


# Groups


def test_a_group_is_of_one_family_and_shape() -> None:
    family = np.array([0, 0, 1, 0, 0, 1])
    hosts = np.array([1.0, 1, 1, 2, 2, 2])
    attempts = _attempts(np.log([1.0, 2, 3, 4, 5, 6]), family, hosts=hosts)
    assert _groups(attempts) == [[1, 2], [4, 5]]


def test_a_group_has_one_configuration() -> None:
    rate = np.array([1.0, 1, 2, np.nan, np.nan, 2])
    attempts = _attempts(np.log(np.arange(1.0, 7)), np.zeros(6, int), config=_numbers(rate=rate))
    assert _groups(attempts) == [[1, 2], [3, 6], [4, 5]]


def test_what_differs_in_every_run_does_not_tell_runs_apart() -> None:
    seeds = np.arange(30.0)
    zone = np.arange(30) % 2.0
    zone[5] = zone[4]
    attempts = _attempts(np.log(1 + zone), np.zeros(30, int), config=_numbers(seed=seeds))
    assert sum(map(len, _groups(attempts))) == 30
    halves = np.repeat([1.0, 2.0], 15)
    both = _attempts(np.log(halves), np.zeros(30, int), allocation=_numbers(zone=halves))
    assert sum(map(len, _groups(both))) == 30
    assert all(len(set(group)) == 1 for group in _groups(both))
    assert any(len(set(group)) > 1 for group in _groups(attempts))


def test_long_runs_are_cut_into_groups_close_in_time() -> None:
    attempts = _attempts(np.log(np.arange(1.0, 14)), np.zeros(13, int))
    groups = _groups(attempts)
    assert sorted(chain.from_iterable(groups)) == list(range(1, 14))
    assert all(2 <= len(group) <= MOST_OF_A_GROUP for group in groups)
    assert all(max(group) - min(group) == len(group) - 1 for group in groups)


def test_repeats_weeks_apart_are_none() -> None:
    when = np.array([0, 1, 20, 21, 60]) * DAY_US
    attempts = _attempts(np.log(np.arange(1.0, 6)), np.zeros(5, int), completed_at=when)
    assert _groups(attempts) == [[1, 2], [3, 4]]


def test_of_nothing_there_are_no_groups() -> None:
    assert _groups(_attempts(np.zeros(0), np.zeros(0, int))) == []
    assert noise_of(_attempts(np.zeros(0), np.zeros(0, int))) is None


def _drawn(draw: Draw, effect: float, rows: int = 2_400) -> Attempts:
    """Four runs of each family, in zones drawn anew each time, and what a zone costs of a log."""
    family = np.repeat(np.arange(rows // 4), 4)
    zone = draw.integers(0, 8, rows).astype(np.float64)
    noise = draw.normal(0, 0.08, rows) + effect * (zone % 4)
    return _attempts(noise, family, allocation=_numbers(zone=zone, colour=zone % 2))


def test_what_makes_no_difference_does_not_tell_runs_apart() -> None:
    draw = np.random.default_rng(1)
    same = repeats(_drawn(draw, 0.0))
    assert len(same.group) > 0.8 * 2_400  # one of the two names may be kept by chance
    apart = repeats(_drawn(draw, 0.3))
    assert len(apart.group) < 0.5 * 2_400
    within = [np.ptp(apart.log_value[apart.group == at]) for at in range(len(apart.family))]
    assert np.median(within) < 0.2


def test_with_few_pairs_everything_tells_runs_apart() -> None:
    few = repeats(_drawn(np.random.default_rng(2), 0.0, rows=240))
    assert len(few.group) < 0.5 * 240


def test_of_many_groups_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, _ = _fleet(np.random.default_rng(8), "small", 400)
    whole = repeats(attempts)
    monkeypatch.setattr(grouping, "MOST_GROUPS", 50)
    some = repeats(attempts)
    assert len(some.family) == 50
    assert len(set(some.family)) > 45
    assert set(np.bincount(some.group)) <= {2, 3}
    assert set(some.log_value) < set(whole.log_value)


# The ceiling

KINDS: dict[str, Callable[[Draw, Ints], Floats]] = {
    "even": lambda draw, family: draw.normal(0, 0.15, len(family)),
    "small": lambda draw, family: draw.normal(0, 0.08, len(family)),
    "by family": lambda draw, family: _by_family(draw, family, 0.09, 0.6),
    "by family, wide": lambda draw, family: _by_family(draw, family, 0.12, 0.45),
    "laplace": lambda draw, family: draw.laplace(0, 0.09, len(family)),
    "heavy tails": lambda draw, family: 0.07 * draw.standard_t(3, len(family)),
    "heavier tails": lambda draw, family: 0.05 * draw.standard_t(2, len(family)),
    "stragglers": lambda draw, family: (
        _by_family(draw, family, 0.05, 0.4)
        - (draw.random(len(family)) < 0.1) * np.log(draw.uniform(1.2, 4, len(family)))
    ),
    "stragglers of a quiet fleet": lambda draw, family: (
        draw.normal(0, 0.01, len(family))
        - (draw.random(len(family)) < 0.06) * np.log(draw.uniform(1.5, 4, len(family)))
    ),
    "both ways": lambda draw, family: (
        draw.normal(0, 0.05, len(family))
        + (draw.random(len(family)) < 0.1) * draw.normal(0, 0.6, len(family))
    ),
    "drift": lambda draw, family: (
        draw.normal(0, 0.11, len(family)) + np.linspace(0, 0.15, len(family))
    ),
}


def _by_family(draw: Draw, family: Ints, middle: float, spread: float) -> Floats:
    scale = draw.lognormal(np.log(middle), spread, family.max() + 1)
    noise: Floats = scale[family] * draw.standard_normal(len(family))
    return noise


def _fleet(draw: Draw, kind: str, families: int = 1_200) -> tuple[Attempts, Floats]:
    """Attempts of families that run one to ten times, and their noise."""
    family = np.repeat(np.arange(families), draw.integers(1, 11, families))
    draw.shuffle(family)
    noise = KINDS[kind](draw, family)
    return _attempts(draw.normal(5, 2, families)[family] + noise, family), noise


def _reachable(noise: Floats, by: Ints | None = None) -> float:
    """The best share that one factor on the noise-free throughput has within ±20 %."""
    factors = np.exp(np.linspace(-0.2, 0.2, 401))
    near = np.abs(factors[:, None] * np.exp(-noise) - 1) <= 0.2
    return float(near.mean(axis=1).max())


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_the_ceiling_is_what_the_noise_allows(kind: str, seed: int) -> None:
    attempts, noise = _fleet(np.random.default_rng(seed), kind)
    if kind == "drift":  # which is no noise: a model could follow it
        noise = noise - np.linspace(0, 0.15, len(noise))
    found = noise_of(attempts)
    assert found is not None
    ceiling = found.ceiling(attempts)
    assert ceiling is not None
    reachable = _reachable(noise)
    assert 0.78 < reachable < 0.995
    assert ceiling["w20"] == pytest.approx(reachable, abs=0.02)
    assert ceiling["low"] <= ceiling["w20"] <= ceiling["high"]
    assert ceiling["high"] - ceiling["low"] < 0.05


def test_a_family_has_the_ceiling_of_its_own_repeats() -> None:
    draw = np.random.default_rng(3)
    family = np.repeat(np.arange(300), 12)
    loud = family % 2 == 1
    noise = np.where(loud, 0.3, 0.02) * draw.standard_normal(len(family))
    attempts = _attempts(noise, family)
    found = noise_of(attempts)
    assert found is not None
    for part, expected in ((loud, _reachable(noise[loud])), (~loud, 1.0)):
        ceiling = found.ceiling(attempts.take(np.flatnonzero(part)))
        assert ceiling is not None
        assert ceiling["w20"] == pytest.approx(expected, abs=0.07)


def test_families_without_repeats_have_the_ceiling_of_their_like() -> None:
    draw = np.random.default_rng(4)
    family = np.repeat(np.arange(600), 4)
    model = family % 2
    noise = np.where(model == 1, 0.3, 0.02) * draw.standard_normal(len(family))
    found = noise_of(_attempts(noise, family, model=model))
    assert found is not None

    def of(kind: int) -> float:
        new = _attempts(np.zeros(5), 1_000 + np.arange(5), model=np.full(5, kind))
        ceiling = found.ceiling(new) if found else None
        assert ceiling is not None
        return float(ceiling["w20"])

    assert of(0) > 0.92
    assert of(1) == pytest.approx(_reachable(noise[model == 1]), abs=0.1)
    assert of(0) > of(9) > of(1)  # a model type that nobody knows


def test_exact_repeats_have_no_noise() -> None:
    family = np.repeat(np.arange(50), 3)
    attempts = _attempts(family.astype(np.float64), family)
    found = noise_of(attempts)
    assert found is not None
    assert found.ceiling(attempts) == pytest.approx({"w20": 1.0, "low": 1.0, "high": 1.0}, abs=1e-3)
    assert found.ceiling(attempts.take(np.zeros(0, np.int64))) is None


def test_too_few_repeats_say_nothing() -> None:
    family = np.repeat(np.arange(29), 2)
    assert noise_of(_attempts(np.zeros(58), family)) is None
    assert noise_of(_attempts(np.zeros(60), np.repeat(np.arange(30), 2))) is not None


def test_the_unit_and_the_order_of_attempts_change_nothing() -> None:
    attempts, _ = _fleet(np.random.default_rng(5), "by family", 200)
    found = noise_of(attempts)
    scaled = noise_of(replace(attempts, measured=attempts.measured * 1e6))
    mixed = noise_of(attempts.take(np.random.default_rng(6).permutation(len(attempts))))
    assert isinstance(found, Noise)
    assert scaled is not None
    assert mixed is not None
    expected = found.ceiling(attempts)
    assert scaled.ceiling(attempts) == pytest.approx(expected)
    ceiling = mixed.ceiling(attempts)
    assert ceiling is not None
    assert expected is not None
    assert ceiling["w20"] == pytest.approx(expected["w20"], abs=1e-6)


def test_an_evaluation_states_its_ceiling() -> None:
    attempts, _ = _fleet(np.random.default_rng(7), "small", 300)
    found = noise_of(attempts)
    result = evaluate(attempts, attempts.measured, np.zeros(len(attempts), bool), found)
    assert found is not None
    ceiling = found.ceiling(attempts)
    assert ceiling is not None
    assert result["noise_ceiling_w20"] == ceiling["w20"]
    assert result["noise_ceiling_interval"] == [ceiling["low"], ceiling["high"]]
    without = evaluate(attempts, attempts.measured, np.zeros(len(attempts), bool))
    assert without["noise_ceiling_w20"] is without["noise_ceiling_interval"] is None
