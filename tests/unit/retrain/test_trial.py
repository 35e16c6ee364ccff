"""Champion and challengers: tried on days that none was fitted on, within a time budget."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Any

import numpy as np
import pytest

from functions.retrain.contenders import Incumbent
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.single import Single
from functions.retrain.report.nightly_page import nightly_page
from functions.retrain.settings import Settings
from functions.retrain.trial import Trial, trial_of
from leap_model.artifact import load
from leap_model.errors import TrainingError
from leap_model.limits import DAY_US
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import start_of
from tests.support import filled, fleet
from tests.unit.retrain.nights import (
    AS_OF,
    LATER,
    TINY,
    add,
    night,
    outcomes,
    pointer_of,
    rows_between,
)
from tests.unit.retrain.pages import sound

GOOD = Single(name="good", trees=40, leaves=6, learning_rate=0.5)
BAD = Single(name="bad", trees=1, leaves=2, learning_rate=0.05)
NETWORK = ResidualNetwork(width=8, blocks=1, vector=2, epochs=1.0, least_steps=20)
SETTINGS = replace(TINY, estimator=BAD, challengers=(GOOD,), min_rows=100)
START, END = date(2026, 1, 1), date(2026, 1, 10)


class Clock:
    """Seconds that pass only while something is fitted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.now = 0.0
        self.fitted: list[str] = []
        honest = Single.fit

        def fit(own: Single, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
            self.fitted.append(own.name)
            self.now += seconds.get(own.name, 1.0)
            return honest(own, rows, seed, processes)

        monkeypatch.setattr(Single, "fit", fit)

    def __call__(self) -> float:
        return self.now


def tried(
    store: LocalStore,
    settings: Settings = SETTINGS,
    incumbent: Incumbent | None = None,
    clock: Any = None,
) -> tuple[Settings, Trial | None]:
    """A trial on the nine days of the store's window."""
    usable = rows_between(store, START, END).usable()
    parts = (usable, outcomes(store, AS_OF), stored_catalogue(store), settings)
    ticks: Iterator[int] = count()
    return trial_of(*parts, incumbent or Incumbent(), clock or (lambda: float(next(ticks))))


def names(trial: Trial | None) -> list[tuple[str, bool]]:
    """The contenders in the order of their turns, and whether each was tried."""
    assert trial is not None
    return [(one.name, one.w20 is not None) for one in trial.tried]


def test_a_challenger_that_is_surely_better_is_published_and_the_metrics_say_why(
    full: LocalStore,
) -> None:
    metrics = night(full, settings=SETTINGS)
    trial = metrics["trial"]
    assert (metrics["estimator"], trial["champion"], trial["chosen"]) == ("good", "bad", "good")
    assert trial["why"].startswith("good takes the place of bad: +")
    assert trial["days"] == [f"2026-01-{day:02}" for day in range(5, 10)]
    bad, good = trial["contenders"]
    assert [len(one["by_day"]) for one in (bad, good)] == [5, 5]
    assert good["difference"]["low"] > 0
    assert good["w20"] == pytest.approx(bad["w20"] + good["difference"]["mean"])
    pointer = pointer_of(full)
    assert pointer is not None
    artifact = load(full.folder(pointer.uri), pointer.manifest_sha256)
    assert artifact.training["estimator"]["name"] == "good"
    page = sound(nightly_page(metrics))
    for said in (trial["why"], "Champion and challengers", "2026-01-05 to 2026-01-09"):
        assert said in page.said
    assert json.loads(json.dumps(metrics)) == metrics


def test_what_serves_is_the_champion_of_the_next_night(store: LocalStore) -> None:
    attempts = fleet(360, days=11)
    filled(store.root, [a for a in attempts if a["completed_at"] < "2026-01-11"])
    night(store, settings=SETTINGS)
    add(store, [a for a in attempts if a["completed_at"] >= "2026-01-11"])
    trial = night(store, LATER, SETTINGS)["trial"]
    assert (trial["champion"], trial["chosen"]) == ("good", "good")
    assert trial["why"].startswith("good stays: no challenger is surely better; bad has -")


def test_without_challengers_nothing_is_tried(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    metrics = night(full, settings=replace(SETTINGS, challengers=()))
    assert (metrics["estimator"], metrics["trial"], clock.fitted) == ("bad", None, ["bad"])
    assert "Champion" not in nightly_page(metrics)


@pytest.mark.parametrize(
    "settings",
    [
        replace(SETTINGS, min_rows=300),
        replace(SETTINGS, min_days=8),
        replace(SETTINGS, trial_days=1),
    ],
    ids=["rows", "days", "no interval"],
)
def test_with_too_few_days_to_tell_the_first_is_published(
    full: LocalStore, settings: Settings
) -> None:
    chosen, trial = tried(full, settings)
    assert (chosen.estimator, trial) == (BAD, None)


def test_fewer_days_are_held_out_where_the_window_is_short(full: LocalStore) -> None:
    _, trial = tried(full, replace(SETTINGS, min_days=6))
    assert trial is not None
    assert trial.days == ("2026-01-07", "2026-01-08", "2026-01-09")


@pytest.mark.parametrize("estimator", [BAD, NETWORK], ids=["single", "network"])
def test_nothing_of_a_day_is_known_before_it_is_over(
    store: LocalStore, estimator: Single | ResidualNetwork
) -> None:
    """Whatever is measured on the last day changes no figure of the days before it."""
    attempts = fleet(320)
    settings = replace(SETTINGS, estimator=estimator, challengers=(GOOD,))
    shares = []
    for at, factor in enumerate((1.0, 100.0)):
        changed = [
            a | {"throughput": a["throughput"] * factor}
            if a["completed_at"].startswith("2026-01-09")
            else a
            for a in attempts
        ]
        _, trial = tried(filled(store.root / str(at), changed), settings)
        assert trial is not None
        shares.append([one.w20 for one in trial.tried])
    for before, after in zip(*shares, strict=True):
        assert before is not None
        assert after is not None
        assert before[:-1] == after[:-1]
        assert np.isfinite(before).all()


def test_contenders_are_fitted_on_the_days_before_those_held_out(
    full: LocalStore, fits: list[TrainingSet]
) -> None:
    tried(full)
    assert len(fits) == 2
    for rows in fits:
        assert rows.source is not None
        completed = rows.source.attempts.completed_at
        assert completed.max() < start_of(date(2026, 1, 5))
        assert len(np.unique(completed // DAY_US)) == 4


def test_a_network_is_tried_by_one_member_and_published_with_all(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, members = ResidualNetwork.fit, list[int]()

    def fit(own: ResidualNetwork, rows: TrainingSet, seed: int, processes: int | None) -> Fitted:
        members.append(own.members)
        return honest(own, rows, seed, processes)

    monkeypatch.setattr(ResidualNetwork, "fit", fit)
    worst = replace(GOOD, name="worst", trees=1, leaves=2, learning_rate=1e-6)
    metrics = night(full, settings=replace(SETTINGS, estimator=NETWORK, challengers=(worst,)))
    assert metrics["trial"]["chosen"] == "network"
    assert members == [1, NETWORK.members]


def test_a_challenger_waits_for_another_night_once_the_time_is_spent(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, bad=30.0)
    _, trial = tried(full, replace(SETTINGS, budget_s=60.0), clock=clock)
    # 30 s are spent, and a whole fit of the champion may take twice as long.
    assert names(trial) == [("bad", True), ("good", False)]
    assert trial is not None
    assert trial.tried[1].reason == "no time was left for it"
    assert trial.choice.why == "bad stays: no challenger was tried"
    assert clock.fitted == ["bad"]


def test_what_a_challenger_took_last_time_decides_whether_it_is_tried(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, challengers=(GOOD, replace(GOOD, name="quick")), budget_s=60.0)
    clock = Clock(monkeypatch)
    took = Incumbent("bad", {"good": 100.0, "quick": 3.0})
    _, trial = tried(full, settings, took, clock)
    assert names(trial) == [("bad", True), ("good", False), ("quick", True)]
    assert trial is not None
    assert trial.tried[1].reason == "it took 100 s last time, and 57 s were left"


def test_the_champion_is_tried_whatever_the_budget(full: LocalStore) -> None:
    _, trial = tried(full, replace(SETTINGS, budget_s=0.0), Incumbent("good"))
    assert names(trial) == [("good", True), ("bad", False)]


@pytest.mark.parametrize("fault", [ValueError("secret of an attempt"), TrainingError("too few")])
def test_a_challenger_that_fails_costs_the_night_nothing(
    full: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
) -> None:
    honest = Single.fit

    def fit(own: Single, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        if own.name == "good":
            raise fault
        return honest(own, rows, seed, processes)

    monkeypatch.setattr(Single, "fit", fit)
    metrics = night(full, settings=SETTINGS)
    assert (metrics["estimator"], metrics["pointed"]) == ("bad", True)
    reason = metrics["trial"]["contenders"][1]["reason"]
    assert reason == ("too few" if isinstance(fault, TrainingError) else "ValueError")
    assert f"good could not be tried: {reason}" in caplog.text
    assert "secret" not in caplog.text
