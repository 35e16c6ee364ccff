"""When a challenger takes the champion's place, and what is said of it."""

from typing import Any

import pytest

from functions.retrain.contenders import Choice, Incumbent, Tried, chosen_of

CHAMPION = Tried("champion", (0.50, 0.52, 0.48, 0.51, 0.49))


def tried(name: str, *more: float) -> Tried:
    """A challenger by how much higher its w20 is on each day."""
    assert CHAMPION.w20 is not None
    return Tried(name, tuple(own + gain for own, gain in zip(CHAMPION.w20, more, strict=True)))


def _choice(*challengers: Tried, champion: Tried = CHAMPION) -> Choice:
    return chosen_of("champion", [champion, *challengers])


def test_a_challenger_that_is_surely_better_takes_the_place() -> None:
    choice = _choice(tried("other", 0.05, 0.06, 0.04, 0.05, 0.05))
    assert choice.chosen == "other"
    assert choice.why == (
        "other takes the place of champion: +5.0 points of w20 (+4.1 to +5.9, 5 days)"
    )


def test_an_interval_that_holds_zero_leaves_the_champion() -> None:
    choice = _choice(tried("other", 0.10, -0.04, 0.09, -0.03, 0.05))
    assert choice.chosen == "champion"
    assert choice.why == (
        "champion stays: no challenger is surely better; "
        "other has +3.4 points of w20 (-4.8 to +11.6, 5 days)"
    )


def test_the_same_on_every_day_is_not_better() -> None:
    assert _choice(tried("other", 0, 0, 0, 0, 0)).chosen == "champion"


def test_of_several_the_one_with_the_greatest_mean_is_chosen() -> None:
    sure, better = tried("sure", *[0.02] * 5), tried("better", 0.05, 0.06, 0.04, 0.05, 0.05)
    unsure = tried("unsure", 0.5, -0.2, 0.4, 0.3, -0.1)
    for order in ((sure, better, unsure), (unsure, better, sure)):
        assert _choice(*order).chosen == "better"


def test_a_champion_that_failed_gives_way_to_the_best_of_the_others() -> None:
    failed = Tried("champion", None, reason="ValueError")
    worse, better = tried("worse", *[-0.1] * 5), tried("better", *[0.1] * 5)
    choice = _choice(worse, better, champion=failed)
    assert choice.chosen == "better"
    assert choice.why == "better is the best of those tried; champion was not tried: ValueError"


def test_where_nothing_could_be_tried_the_champion_stays_and_it_is_said() -> None:
    failed = Tried("champion", None, reason="ValueError")
    choice = _choice(Tried("other", None, reason="MemoryError"), champion=failed)
    assert (choice.chosen, choice.why) == ("champion", "champion was not tried: ValueError")
    alone = _choice(Tried("other", None, reason="MemoryError"))
    assert (alone.chosen, alone.why) == ("champion", "champion stays: no challenger was tried")


def test_a_version_s_metrics_tell_its_estimator_and_what_each_contender_took() -> None:
    contenders = [
        {"name": "a", "w20": 0.5, "seconds": 12},
        {"name": "b", "w20": None, "seconds": 0.0},
    ]
    report = {"estimator": "a", "trial": {"contenders": contenders}}
    assert Incumbent.of(report) == Incumbent("a", {"a": 12.0})
    assert Incumbent.of({"estimator": "a", "trial": None}) == Incumbent("a")


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"estimator": 3, "trial": 3},
        {"estimator": None, "trial": {"contenders": 3}},
        {"trial": {"contenders": [3]}},
        {"trial": {"contenders": [{"name": "a", "w20": 0.5, "seconds": "x"}]}},
        {"trial": {"contenders": [{"name": "a", "w20": 0.5, "seconds": float("nan")}]}},
        {"trial": {"contenders": [{"w20": 0.5, "seconds": 1}]}},
    ],
)
def test_damaged_metrics_tell_nothing(report: dict[str, Any]) -> None:
    assert Incumbent.of(report) == Incumbent()
