"""How much of the past to believe: the last whole days decide, and never for the worse."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.retrain.learning import recalling
from functions.retrain.learning.memory import Memory
from functions.retrain.learning.recalling import choose, corrected, held_back, sampled
from leap_model.columns import Floats, Ints
from leap_model.limits import DAY_US
from leap_model.model import Model
from leap_model.references import Asked, Known, Recall
from tests.unit.leap_model.residual import network_of, rows_of
from tests.unit.learning.past import HARDWARE, Ran, memory_of


def completions(*per_day: int) -> Ints:
    """So many completions on each of consecutive days, in no order."""
    days = np.repeat(np.arange(len(per_day)), per_day)
    draw = np.random.default_rng(0)
    moments = days * DAY_US + draw.integers(0, DAY_US, len(days))
    return draw.permutation(moments)


def days_back(completed_at: Ints) -> list[int]:
    back = held_back(completed_at)
    assert back.shape == completed_at.shape
    days = completed_at // DAY_US
    for day in np.unique(days):  # whole days
        assert len(np.unique(back[days == day])) == 1
    return sorted({int(day) for day in days[back]})


@pytest.mark.parametrize(
    ("per_day", "back"),
    [
        ([100] * 30, [27, 28, 29]),
        ([100] * 29 + [99], [26, 27, 28, 29]),
        ([100] * 27 + [1, 1, 300], [29]),
        ([100] * 27 + [1, 1, 298], [27, 28, 29]),
        ([1_000, 1_000], [1]),
        ([1_000, 999], [1]),
        ([999, 1_000], []),
        ([1_800, 0, 0, 200], [3]),
        ([1_801, 0, 0, 199], []),
        ([1_791, 200], [1]),
        ([190] * 10, []),
        ([5_000], []),
        ([], []),
    ],
)
def test_the_last_whole_days_with_a_tenth_of_the_rows_are_held_back(
    per_day: list[int], back: list[int]
) -> None:
    assert days_back(completions(*per_day)) == back


@given(st.lists(st.integers(0, 900), min_size=1, max_size=12))
def test_the_fewest_last_days_are_held_back(per_day: list[int]) -> None:
    count, back, held = sum(per_day), list[int](), 0
    for day in reversed(range(len(per_day))):
        if held and held >= round(0.10 * count):
            break
        held += per_day[day]
        back = [day, *back] if per_day[day] else back
    expected = back if 200 <= held <= count / 2 else []
    assert days_back(completions(*per_day)) == expected


@pytest.mark.parametrize(("rows", "most"), [(10, 3), (10, 10), (10, 11), (9_000, 3_000), (7, 1)])
def test_a_sample_takes_equal_steps(rows: int, most: int) -> None:
    of = np.arange(100, 100 + rows)
    sample = sampled(of, most)
    assert len(sample) == min(rows, most)
    assert sample[0] == 100
    if most > 1:
        assert sample[-1] == of[-1]
        assert np.ptp(np.diff(sample)) <= 1
    assert np.all(np.diff(sample) > 0)


def test_the_correction_is_what_the_model_does() -> None:
    draw = np.random.default_rng(0)
    matrix = np.column_stack([rows_of(100), draw.normal(0, 2, (100, 4))])
    matrix[:, 10] = draw.uniform(0, 1, 100)
    network = network_of()
    model = Model.of_networks([network], 11, 7, (8, 9, 10), 0.7).checked()
    known = Known(matrix[:, 8], matrix[:, 9], matrix[:, 10], np.zeros(100, np.int8))
    said = network.score(matrix)[:, 0] + matrix[:, 7]
    expected = corrected(said, matrix[:, 7], known, 0.7)
    np.testing.assert_allclose(model.predict(matrix), expected, rtol=1e-12)
    assert np.ptp(expected - said - known.rest) > 0.9


# What is chosen.


@dataclass(frozen=True)
class Fleet:
    """Attempts of some families over eight days, the last two of which are held back."""

    memory: Memory
    asked: Asked
    before: Ints
    said: Floats
    scale: Floats
    values: Floats

    def chosen(self) -> tuple[Recall, float, float]:
        parts = (self.memory, self.asked, self.before, self.said, self.scale, self.values)
        return choose(*parts)

    def error(self, recall: Recall) -> float:
        """The mean error with some constants, by the same definition."""
        memory = replace(self.memory, recall=recall)
        predicted = corrected(
            self.said, self.scale, memory.recalled(self.asked, self.before), recall.most
        )
        return float(np.mean(np.minimum(np.abs(self.values - predicted), 0.5)))

    @property
    def start(self) -> Recall:
        """The constants that the choice begins with."""
        most = float(np.quantile(np.abs(self.memory.rest), 0.99))
        return replace(self.memory.recall, most=most)


def fleet(apart: float, noise: float, *, types: float = 0.0, seed: int = 0) -> Fleet:
    """A network that is off by so much for each family and each hardware type, and noise."""
    draw = np.random.default_rng(seed)
    own = draw.normal(0.0, apart, 40)
    here = dict(zip(HARDWARE, draw.normal(0.0, types, 3).tolist(), strict=True))
    runs, held = [], []
    for at in range(600):
        family, on, day = int(draw.integers(40)), str(draw.choice(HARDWARE)), 8 * at / 600
        rest = own[family] + here[on] + draw.normal(0.0, noise)
        name = f"family {family}"
        runs.append(Ran(name, f"type {family % 4}", on, day=day, rest=rest, level=1.0 + rest))
        held.append(day >= 6)
    rows = np.flatnonzero(held)
    memory = memory_of(runs)
    launched_at = memory.completed_at[rows]
    asked = Asked(
        *(memory.family[rows], memory.model_type[rows], memory.hardware_at[rows]),
        *(memory.size[rows], launched_at),
    )
    scale = draw.normal(5.0, 1.0, len(rows))
    said = scale + 1.0
    return Fleet(
        memory, asked, launched_at // DAY_US * DAY_US, said, scale, said + memory.rest[rows]
    )


@pytest.mark.parametrize("apart", [0.0, 0.4])
@pytest.mark.parametrize("noise", [0.02, 0.4])
def test_what_is_chosen_is_never_worse_than_what_it_began_with(apart: float, noise: float) -> None:
    known = fleet(apart, noise)
    recall, alone, with_it = known.chosen()
    assert with_it <= known.error(known.start)
    assert with_it == pytest.approx(known.error(recall), abs=1e-12)
    errors = np.minimum(np.abs(known.values - known.said), 0.5)
    assert alone == pytest.approx(float(np.mean(errors)), abs=1e-12)
    assert recall.most in (known.start.most, 0.0)
    assert with_it <= alone


def test_nothing_is_recalled_where_that_misleads() -> None:
    """Attempts are all faster than the network says, where those before them were slower."""
    known = fleet(0.4, 0.01)
    slower = replace(known.memory, rest=np.full(len(known.memory.rest), -0.2))
    misled = replace(known, memory=slower, values=known.said + 0.2)
    recall, alone, with_it = misled.chosen()
    assert (recall.most, with_it) == (0.0, alone)
    assert misled.error(recall) == pytest.approx(alone)


def test_where_families_differ_and_noise_is_small_the_past_is_believed() -> None:
    recall, alone, with_it = fleet(0.4, 0.01).chosen()
    assert recall.shrink <= 0.1
    assert with_it < alone / 10


def test_where_the_rest_is_noise_little_is_believed() -> None:
    recall, alone, with_it = fleet(0.0, 0.2).chosen()
    assert recall.shrink >= 1.0
    assert with_it == pytest.approx(alone, rel=0.05)


def test_other_hardware_is_believed_where_families_are_alike_on_all() -> None:
    alike, _, _ = fleet(0.4, 0.01).chosen()
    apart, _, _ = fleet(0.05, 0.01, types=0.5).chosen()
    assert alike.elsewhere > apart.elsewhere


def benchmark(alike: float, seed: int = 0) -> Fleet:
    """Every attempt is of a family of its own, and its level follows its size, up to so much; the
    network knows nothing of that."""
    draw = np.random.default_rng(seed)
    runs = []
    for at in range(600):
        size = float(draw.choice([1.0, 2.0, 3.0, 4.0]))
        level = np.sin(3 * size) + draw.normal(0.0, alike)
        name = f"submission {at}"
        runs.append(Ran(name, samples=size, day=8 * at / 600, rest=0.0, level=level))
    memory = memory_of(runs)
    memory = replace(memory, rest=draw.normal(0.0, 2.0, 600))
    rows = np.flatnonzero(memory.completed_at >= 6 * DAY_US)
    launched_at = memory.completed_at[rows]
    asked = Asked(
        *(memory.family[rows], memory.model_type[rows], memory.hardware_at[rows]),
        *(memory.size[rows], launched_at),
    )
    scale = draw.normal(5.0, 1.0, len(rows))
    values = scale + memory.level[rows]
    return Fleet(memory, asked, launched_at // DAY_US * DAY_US, scale + 0.3, scale, values)


def scattered(apart: float) -> Fleet:
    """The same, but that families are so far apart around what the network says of them."""
    known = benchmark(0.0)
    level = np.random.default_rng(1).normal(0.0, apart, len(known.memory.level))
    rows = np.flatnonzero(known.memory.completed_at >= 6 * DAY_US)
    memory = replace(known.memory, level=level)
    return replace(known, memory=memory, said=known.scale, values=known.scale + level[rows])


def test_what_peers_reached_is_believed_where_new_families_do_alike() -> None:
    known = benchmark(0.01)
    recall, alone, with_it = known.chosen()
    assert recall.peers >= 0.75
    assert with_it < alone / 5
    assert known.error(replace(recall, peers=0.0)) > 2 * with_it


@pytest.mark.parametrize("alike", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(2))
def test_of_reaches_that_do_as_well_the_widest_is_taken(alike: float, seed: int) -> None:
    known = benchmark(alike, seed)
    recall, _, with_it = known.chosen()
    assert recall.peers > 0
    errors = {near: known.error(replace(recall, near=near)) for near in (0.1, 0.3, 1.0, 3.0)}
    assert errors[recall.near] == with_it <= 1.01 * min(errors.values())
    assert all(errors[near] > 1.01 * min(errors.values()) for near in errors if near > recall.near)


def test_what_peers_reached_is_not_believed_where_it_says_nothing() -> None:
    recall, alone, with_it = scattered(0.3).chosen()
    assert recall.peers <= 0.25
    assert with_it <= alone


@pytest.mark.parametrize("seed", range(2))
def test_what_was_held_back_is_not_in_what_it_is_judged_by(seed: int) -> None:
    known = fleet(0.3, 0.05, seed=seed)
    last = known.memory.completed_at >= known.before.max()
    assert last.sum() > 50
    leak = replace(known.memory, rest=np.where(last, known.memory.rest * 0.999, known.memory.rest))
    later = replace(known.memory, level=np.where(last, 1e6, known.memory.level))
    for memory in (leak, later):
        other = replace(known, memory=memory)
        assert other.error(known.start) == known.error(known.start)


def test_equal_errors_keep_the_constants_that_were_there() -> None:
    known = fleet(0.0, 0.0)
    recall, alone, with_it = known.chosen()
    assert (alone, with_it) == (0.0, 0.0)
    assert recall == replace(Recall(), most=0.0)


def test_an_absurd_error_is_no_worse_than_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = fleet(0.05, 0.01)
    values = known.values.copy()
    values[7] += 1e6
    (_, alone, with_it), (_, absurd, with_absurd) = (
        replace(known, values=values).chosen() for values in (known.values, values)
    )
    most = 0.5 / len(values)
    assert 0 < absurd - alone <= most
    assert 0 < with_absurd - with_it <= most
    monkeypatch.setattr(recalling, "_FARTHEST", np.inf)
    assert replace(known, values=values).chosen()[1] > 1e3
