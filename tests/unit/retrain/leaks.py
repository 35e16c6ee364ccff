"""Attempts as messy as they come, and what a night fits and judges of them."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from functions.retrain import backtest as replay
from functions.retrain import live, nightly
from functions.retrain.dataset import Attempts, Records
from functions.retrain.evaluation import evaluate, figures
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.single import Single
from leap_model.columns import Floats
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import FEW, add

Runs = list[dict[str, Any]]
START, DAYS = date(2026, 1, 1), 12
LATE = date(2026, 1, 9)
SMALL = Cascade(bins=3, rounds=1, expert_trees=3, deciding_trees=2, classifier_trees=3)
ESTIMATORS: Mapping[str, Single | Cascade | ResidualNetwork] = {
    entry.name: entry
    for entry in (
        ResidualNetwork(width=8, blocks=1, vector=2, epochs=1.0, least_steps=20),
        Single(trees=4, leaves=6, learning_rate=0.5),
        Single(name="plain", scaled=False, trees=4, leaves=6, learning_rate=0.5),
        SMALL,
        replace(SMALL, name="cascade-published", bins=2, reach=13),
    )
}
SETTINGS = replace(FEW, estimator=ESTIMATORS["single"], window_days=6)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def messy(count: int = 260, seed: int = 11) -> Runs:
    """Fourteen families whose runs overlap, on several hardware types; launches that are missing,
    or after completion; completions at midnight; attempts without a usable throughput."""
    draw = random.Random(seed)
    midnight = datetime.combine(START, datetime.min.time(), UTC)
    runs = fleet(count, days=DAYS, seed=seed)
    for at, run in enumerate(runs):
        completed = midnight + timedelta(seconds=draw.randrange(DAYS * 86_400))
        if at % 13 == 0:
            completed = completed.replace(hour=0, minute=0, second=0)
        hours = draw.choice((0.2, 3, 30, 80))
        launched = completed - timedelta(hours=hours)
        run |= {
            "job_family": f"family {draw.randrange(14)}",
            "completed_at": _text(completed),
            "duration_s": hours * 3600,
            "launched_at": _text(launched),
        }
        kind = at % 10
        if kind in (1, 2):
            run["launched_at"] = None
        if kind == 2:
            run["duration_s"] = None
        if kind == 3:  # the launcher's clock is fast
            run["launched_at"] = _text(completed + timedelta(hours=hours))
        if at % 17 == 0:
            run["throughput"] = draw.choice((None, 0.0))
    return runs


def completed_again(runs: Runs, seed: int = 12) -> Runs:
    """Second records of some attempts, hours to days after the first; now and then unusable."""
    draw = random.Random(seed)
    chosen = draw.sample(
        [run for run in runs if run["completed_at"] < "2026-01-11"], len(runs) // 6
    )
    return [
        run
        | {
            "completed_at": _text(
                datetime.fromisoformat(run["completed_at"]) + timedelta(hours=draw.uniform(1, 40))
            ),
            "throughput": None if at % 9 == 0 else draw.uniform(1, 1000),
        }
        for at, run in enumerate(chosen)
    ]


ONCE = messy()
AGAIN = [*ONCE, *completed_again(ONCE)]


def stored(root: Path, runs: Runs) -> LocalStore:
    """A store of all records: second ones arrive later, since a batch keeps one an attempt."""
    first = {run["attempt_id"]: run for run in reversed(runs)}
    store = filled(root, [run for run in runs if run is first[run["attempt_id"]]])
    add(store, [run for run in runs if run is not first[run["attempt_id"]]])
    return store


def usable(runs: Runs) -> Runs:
    return [run for run in runs if run["throughput"]]


def train_on_a_day_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake: the window also holds the day that follows it."""
    honest = Records.attempts_between

    def leaking(own: Records, start: date, end: date, known_before: date | None = None) -> Attempts:
        if (end - start).days > 1:
            end += timedelta(days=1)
        return honest(own, start, end, known_before)

    monkeypatch.setattr(Records, "attempts_between", leaking)


@dataclass
class Seen:
    """What one night or run fitted, and the measured values that it was judged on."""

    fitted: list[TrainingSet] = field(default_factory=list)
    judged: list[Floats] = field(default_factory=list)
    live: list[Floats] = field(default_factory=list)


@contextmanager
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Seen]]:
    """The last entry receives whatever is fitted or judged; append one for each night."""
    nights = [Seen()]
    honest = {kind: kind.fit for kind in (Single, Cascade)}

    def fit(own: Any, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        nights[-1].fitted.append(rows)
        return honest[type(own)](own, rows, seed, processes)

    def judging(attempts: Attempts, predicted: Floats, cold: Any, noise: Any = None) -> Any:
        nights[-1].judged.append(attempts.measured)
        return evaluate(attempts, predicted, cold, noise)

    def judging_live(attempts: Attempts, predicted: Floats, cold: Any, noise: Any = None) -> Any:
        nights[-1].live.append(attempts.measured)
        return evaluate(attempts, predicted, cold, noise)

    def judging_part(measured: Floats, predicted: Floats) -> Any:
        nights[-1].judged.append(measured)
        return figures(measured, predicted)

    with monkeypatch.context() as patch:
        for kind in honest:
            patch.setattr(kind, "fit", fit)
        patch.setattr(nightly, "evaluate", judging)
        patch.setattr(replay, "evaluate", judging)
        patch.setattr(replay, "figures", judging_part)
        patch.setattr(live, "evaluate", judging_live)
        yield nights
