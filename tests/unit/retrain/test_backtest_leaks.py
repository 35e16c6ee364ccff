"""Nothing that a figure is judged on, and no outcome of the future, reaches what is trained."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest

from functions.retrain import backtest as replay
from functions.retrain import comparators, live, nightly, training
from functions.retrain.backtest import Plan, backtest
from functions.retrain.comparators import COMPARATORS, PARTIAL, Night
from functions.retrain.dataset import Attempts, Records
from functions.retrain.evaluation import evaluate, figures
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.single import Single
from functions.retrain.settings import Settings
from leap_model.columns import Floats, Ints
from leap_model.history import History
from leap_model.limits import DAY_US
from leap_model.store import LocalStore
from leap_model.times import parse_time, start_of
from tests.support import attempt, filled, fleet
from tests.unit.retrain.nights import FEW, add, night

Runs = list[dict[str, Any]]
START, DAYS = date(2026, 1, 1), 12
LATE = date(2026, 1, 9)
FACTOR = 7.0
SMALL = Cascade(bins=3, rounds=1, expert_trees=3, deciding_trees=2, classifier_trees=3)
ESTIMATORS: Mapping[str, Single | Cascade] = {
    entry.name: entry
    for entry in (
        Single(trees=4, leaves=6, learning_rate=0.5),
        Single(name="plain", scaled=False, trees=4, leaves=6, learning_rate=0.5),
        SMALL,
        replace(SMALL, name="cascade-published", bins=2, reach=13),
    )
}
EVERY = tuple(COMPARATORS)
SETTINGS = replace(FEW, estimator=ESTIMATORS["single"], window_days=6)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimators of every kind, of a size for tests."""
    monkeypatch.setattr(comparators, "ESTIMATORS", ESTIMATORS)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _messy(count: int = 260, seed: int = 11) -> Runs:
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


def _completed_again(runs: Runs, seed: int = 12) -> Runs:
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


ONCE = _messy()
AGAIN = [*ONCE, *_completed_again(ONCE)]


def _stored(root: Path, runs: Runs) -> LocalStore:
    """A store of all records: second ones arrive later, since a batch keeps one an attempt."""
    first = {run["attempt_id"]: run for run in reversed(runs)}
    store = filled(root, [run for run in runs if run is first[run["attempt_id"]]])
    add(store, [run for run in runs if run is not first[run["attempt_id"]]])
    return store


# Predictions do not move when everything that they are judged on is multiplied.


def _poisoned(runs: Runs, moment: date) -> Runs:
    """Every measurement from a day on times seven."""
    return [
        run | {"throughput": run["throughput"] * FACTOR}
        if run["throughput"] and run["completed_at"][:10] >= moment.isoformat()
        else run
        for run in runs
    ]


def _of_every_method(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The one night of each method, and of each on what a partial one answers."""
    entries = {"": result, **result["comparators"]}
    for partial, methods in result["covered"].items():
        entries |= {f"{name} on what {partial} answers": e for name, e in methods.items()}
    return {name: entry["nights"][0] for name, entry in entries.items()}


def assert_blind(
    root: Path, plan: Plan, runs: Runs = AGAIN, *, poisoned_from: date | None = None
) -> None:
    """No prediction of a night moves with what completed from its day on: with all of that times
    seven, every ratio of predicted to measured is a seventh."""
    assert plan.first is not None
    dirty = _poisoned(runs, poisoned_from or plan.first)
    assert dirty != runs
    clean, after = (
        _of_every_method(backtest(_stored(root / name, entries), SETTINGS, plan))
        for name, entries in (("clean", runs), ("dirty", dirty))
    )
    assert clean.keys() == after.keys()
    for name, told in clean.items():
        assert told["attempts"] > 0
        for same in ("attempts", "coverage", "cold"):
            assert _attempts(told.get(same)) == _attempts(after[name].get(same)), (name, same)
        assert told["ratio"] == pytest.approx(after[name]["ratio"] * FACTOR, rel=1e-12), name


def _attempts(figure: Any) -> Any:
    """A part's count, without its accuracy, which does move."""
    return figure["attempts"] if isinstance(figure, dict) else figure


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_no_method_of_a_night_knows_what_completes_on_its_day(tmp_path: Path, online: bool) -> None:
    assert_blind(tmp_path, Plan(1, LATE, 1, EVERY, online))


def test_no_method_of_a_night_knows_what_completes_within_a_longer_horizon(tmp_path: Path) -> None:
    assert_blind(tmp_path, Plan(1, date(2026, 1, 7), 4, EVERY))


def test_the_helper_notices_history_from_within_the_horizon(tmp_path: Path) -> None:
    plan = Plan(1, date(2026, 1, 7), 4, ("family-median",), online_history=True)
    with pytest.raises(AssertionError, match="±"):
        assert_blind(tmp_path, plan)


def _train_on_a_day_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake: the window also holds the day that follows it."""
    honest = Records.attempts_between

    def leaking(own: Records, start: date, end: date, known_before: date | None = None) -> Attempts:
        if (end - start).days > 1:
            end += timedelta(days=1)
        return honest(own, start, end, known_before)

    monkeypatch.setattr(Records, "attempts_between", leaking)


@pytest.mark.parametrize("method", [(), ("lookup-table",)], ids=["model", "lookup-table"])
def test_the_helper_notices_training_rows_of_the_horizon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: tuple[str, ...]
) -> None:
    _train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match="±"):
        assert_blind(tmp_path, Plan(1, LATE, 1, method))


def _judged_ratios(root: Path, runs: Runs, settings: Settings) -> list[float]:
    """Predicted to measured of a run's new model and of the live one, a day older."""
    store = _stored(root, runs)
    night(store, LATE, settings, force=True)
    metrics = night(store, LATE + timedelta(days=1), settings)
    assert metrics["evaluation"]["from"] == LATE.isoformat()
    return [metrics["evaluation"]["ratio"], metrics["live"]["evaluation"]["ratio"]]


def assert_run_is_blind(root: Path, settings: Settings) -> None:
    clean = _judged_ratios(root / "clean", AGAIN, settings)
    dirty = _judged_ratios(root / "dirty", _poisoned(AGAIN, LATE), settings)
    assert clean == pytest.approx([ratio * FACTOR for ratio in dirty], rel=1e-12)


@pytest.mark.parametrize("estimator", ["single", "plain", "cascade"])
def test_neither_a_new_model_nor_the_live_one_knows_the_day_that_judges_them(
    tmp_path: Path, estimator: str
) -> None:
    assert_run_is_blind(tmp_path, replace(SETTINGS, estimator=ESTIMATORS[estimator]))


def test_the_helper_notices_a_run_that_trains_on_the_day_that_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match="±"):
        assert_run_is_blind(tmp_path, SETTINGS)


# What is fitted and what is judged are different attempts, and lie apart in time.


@dataclass
class Seen:
    """What one night or run fitted, and the measured values that it was judged on."""

    fitted: list[TrainingSet] = field(default_factory=list)
    judged: list[Floats] = field(default_factory=list)
    live: list[Floats] = field(default_factory=list)


@contextmanager
def _watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Seen]]:
    """The last entry receives whatever is fitted or judged; append one for each night."""
    nights = [Seen()]
    honest = {kind: kind.fit for kind in (Single, Cascade)}

    def fit(own: Any, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        nights[-1].fitted.append(rows)
        return honest[type(own)](own, rows, seed, processes)

    def judging(attempts: Attempts, predicted: Floats, cold: Any) -> Any:
        nights[-1].judged.append(attempts.measured)
        return evaluate(attempts, predicted, cold)

    def judging_live(attempts: Attempts, predicted: Floats, cold: Any) -> Any:
        nights[-1].live.append(attempts.measured)
        return evaluate(attempts, predicted, cold)

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


def _whose(measured: Iterable[float], runs: Runs) -> list[dict[str, Any]]:
    """The records with these measurements, of which no two are equal."""
    by_value = {f"{run['throughput']:.9g}": run for run in runs if run["throughput"]}
    assert len(by_value) == sum(bool(run["throughput"]) for run in runs)
    return [by_value[f"{value:.9g}"] for value in measured]


def assert_apart(
    fitted: Sequence[TrainingSet], judged: Sequence[Floats], last: date, runs: Runs
) -> None:
    """Whatever was fitted completed by the end of a day, whatever was judged after it, and no
    attempt is among both."""
    trained = _whose((value for rows in fitted for value in np.exp(rows.values)), runs)
    scored = _whose((value for values in judged for value in values.tolist()), runs)
    assert trained
    assert scored
    assert max(run["completed_at"][:10] for run in trained) <= last.isoformat()
    assert min(run["completed_at"][:10] for run in scored) > last.isoformat()
    ids = [{run["attempt_id"] for run in records} for records in (trained, scored)]
    assert ids[0].isdisjoint(ids[1])


def _assert_nights_apart(
    root: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, runs: Runs
) -> None:
    store = _stored(root, runs)
    with _watching(monkeypatch) as nights:
        backtest(store, SETTINGS, plan, lambda _: nights.append(Seen()))
    assert len(nights) == plan.nights + 1
    assert plan.first is not None
    for at, seen in enumerate(nights[1:]):
        last = plan.first + timedelta(days=at - 1)
        assert len(seen.judged) == 1 + len(plan.compare) + 2 * (1 + len(plan.compare))
        assert_apart(seen.fitted, seen.judged, last, runs)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
@pytest.mark.parametrize("horizon", [1, 3])
def test_each_night_judges_attempts_that_completed_after_all_that_it_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, horizon: int, online: bool
) -> None:
    compare = ("plain", "cascade", "without-history", *PARTIAL)
    plan = Plan(3, date(2026, 1, 7), horizon, compare, online)
    _assert_nights_apart(tmp_path, monkeypatch, plan, ONCE)


def test_each_night_judges_other_attempts_than_it_fitted_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_nights_apart(tmp_path, monkeypatch, Plan(3, date(2026, 1, 7), 2, PARTIAL), AGAIN)


def test_the_helper_notices_a_night_that_trains_on_what_it_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match=r"assert '2026-01-09' <= '2026-01-08'"):
        _assert_nights_apart(tmp_path, monkeypatch, Plan(1, LATE, 1, PARTIAL), ONCE)


def _assert_runs_apart(root: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs) -> None:
    """Two runs a day apart: each beside its own window, and the live model beside the first's."""
    store = _stored(root, runs)
    with _watching(monkeypatch) as seen:
        first = night(store, LATE, SETTINGS, force=True)
        seen.append(Seen())
        second = night(store, LATE + timedelta(days=1), SETTINGS)
    windows = [date.fromisoformat(metrics["window"]["to"]) for metrics in (first, second)]
    for metrics, run in zip((first, second), seen, strict=True):
        assert metrics["window"]["to"] < metrics["evaluation"]["from"]
        assert_apart(run.fitted, run.judged, date.fromisoformat(metrics["window"]["to"]), runs)
    assert second["live"]["version"] == first["version"]
    assert first["window"]["to"] < second["live"]["evaluation"]["from"]
    assert_apart(seen[0].fitted, seen[1].live, windows[0], runs)


def test_a_run_judges_attempts_that_completed_after_all_that_it_and_the_live_model_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_runs_apart(tmp_path, monkeypatch, ONCE)


def test_a_run_judges_other_attempts_than_it_fitted_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _stored(tmp_path, AGAIN)
    with _watching(monkeypatch) as (seen,):
        metrics = night(store, LATE + timedelta(days=1), SETTINGS)
    last = date.fromisoformat(metrics["window"]["to"])
    assert_apart(seen.fitted, seen.judged, last, AGAIN)


def test_the_live_model_is_judged_on_other_attempts_also_where_some_complete_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = next(run for run in _usable(ONCE) if run["completed_at"][:10] == "2026-01-05")
    again = early | {"completed_at": f"{LATE}T12:00:00Z", "throughput": 123.25}
    _assert_runs_apart(tmp_path, monkeypatch, [*ONCE, again])


def test_the_helper_notices_a_run_that_fits_the_day_that_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _train_on_a_day_more(monkeypatch)
    with pytest.raises(AssertionError, match=r"assert '2026-01-08' <= '2026-01-07'"):
        _assert_runs_apart(tmp_path, monkeypatch, ONCE)


# What a row's history holds had completed before the day of the row's launch.

COLUMNS = ("last", "mean", "std", "runs", "days_since_last")


def _launch(run: Mapping[str, Any]) -> int:
    """As documented: as stated, else completion minus duration, and never after completion."""
    completed = parse_time(run["completed_at"])
    if run["launched_at"] is not None:
        return min(parse_time(run["launched_at"]), completed)
    return completed - int((run["duration_s"] or 0) * 1_000_000)


def _known(runs: Runs, before: int) -> Runs:
    """The last record of each attempt among those that completed before a moment."""
    last: dict[str, dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: parse_time(run["completed_at"])):
        if parse_time(run["completed_at"]) < before:
            last[run["attempt_id"]] = run
    return [last[name] for name in sorted(last)]


def _usable(runs: Runs) -> Runs:
    return [run for run in runs if run["throughput"]]


def _judged_by_hand(runs: Runs, start: date, end: date) -> Runs:
    """What completed in a span, without the attempts of which anything was known before it."""
    before = {run["attempt_id"] for run in _known(runs, start_of(start))}
    known = _usable(_known(runs, start_of(end)))
    return [run for run in known if run["attempt_id"] not in before]


def _history_by_hand(asked: Runs, known: Runs, latest: int | None = None) -> Floats:
    """(rows, 5) the history of each attempt, from the records themselves, one at a time."""
    rows = []
    for run in asked:
        launch = _launch(run)
        before = launch - launch % DAY_US
        before = before if latest is None else min(before, latest)
        seen = sorted(
            (parse_time(other["completed_at"]), float(np.log(other["throughput"])))
            for other in _usable(known)
            if other["job_family"] == run["job_family"]
            and parse_time(other["completed_at"]) < before
        )
        if not seen:
            rows.append((np.nan, np.nan, np.nan, 0.0, np.nan))
            continue
        logs = [log for _, log in seen]
        days = max(launch - seen[-1][0], 0) / DAY_US
        rows.append((logs[-1], fmean(logs), pstdev(logs), float(len(seen)), days))
    return np.array(rows)


def assert_trained_on_the_past(rows: TrainingSet, start: date, end: date, known: Runs) -> None:
    """A training matrix's rows are the attempts of a window, each with the history by hand."""
    window = [
        run for run in _usable(known) if f"{start}" <= run["completed_at"] < f"{end}T00:00:00Z"
    ]
    np.testing.assert_allclose(rows.values, np.log([run["throughput"] for run in window]))
    expected = _history_by_hand(window, known)
    assert np.isnan(expected[:, 0]).any()
    assert (expected[:, 3] > 2).any()
    for at, name in enumerate(COLUMNS):
        column = expected[:, at]
        filled_in = np.where(np.isnan(column), np.nanmedian(column), column)
        found = rows.matrix[:, rows.schema.names.index(f"history.{name}")]
        np.testing.assert_allclose(found, filled_in, rtol=1e-9, atol=1e-7)


def _assert_run_trains_on_the_past(
    root: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs = AGAIN
) -> None:
    as_of = LATE + timedelta(days=1)
    store = _stored(root, runs)
    with _watching(monkeypatch) as (seen,):
        night(store, as_of, SETTINGS)
    (rows,) = seen.fitted
    start = LATE - timedelta(days=SETTINGS.window_days)
    assert_trained_on_the_past(rows, start, LATE, _known(runs, start_of(as_of)))


def _assert_nights_train_on_the_past(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, online: bool = False
) -> None:
    plan = Plan(3, date(2026, 1, 7), 2, ("plain", "without-history"), online)
    store = _stored(root, AGAIN)
    with _watching(monkeypatch) as nights:
        backtest(store, SETTINGS, plan, lambda _: nights.append(Seen()))
    for at, seen in enumerate(nights[1:]):
        as_of = date(2026, 1, 7) + timedelta(days=at)
        with_history = [rows for rows in seen.fitted if "history.last" in rows.schema.names]
        assert len(with_history) == 2
        for rows in with_history:
            start = as_of - timedelta(days=SETTINGS.window_days)
            assert_trained_on_the_past(rows, start, as_of, _known(AGAIN, start_of(as_of)))


@pytest.mark.parametrize("seed", [11, 21, 31])
def test_a_run_trains_on_what_had_completed_before_the_day_of_each_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    runs = _messy(seed=seed)
    runs += _completed_again(runs, seed + 1)
    _assert_run_trains_on_the_past(tmp_path, monkeypatch, runs)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_each_night_trains_on_what_had_completed_before_the_day_of_each_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: bool
) -> None:
    _assert_nights_train_on_the_past(tmp_path, monkeypatch, online=online)


def _to_the_launch(launched_at: Ints) -> Ints:
    """A mistake: what completed on the day of the launch, before it, is history."""
    return launched_at


def _to_the_end_of_the_day(launched_at: Ints) -> Ints:
    """A mistake: the whole day of the launch is history."""
    return launched_at // DAY_US * DAY_US + DAY_US


@pytest.mark.parametrize("mistake", [_to_the_launch, _to_the_end_of_the_day])
def test_the_helpers_notice_histories_that_reach_into_the_day_of_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Any
) -> None:
    monkeypatch.setattr(training, "cutoffs", mistake)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        _assert_run_trains_on_the_past(tmp_path / "run", monkeypatch)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        _assert_nights_train_on_the_past(tmp_path / "nights", monkeypatch)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_what_is_judged_sees_no_more_than_its_launch_day_knew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: bool
) -> None:
    nights: list[Night] = []

    def listening(known: Night, model: Floats) -> Floats:
        nights.append(known)
        return model

    monkeypatch.setitem(COMPARATORS, "lookup-table", listening)
    as_of, end = date(2026, 1, 7), date(2026, 1, 11)
    plan = Plan(1, as_of, (end - as_of).days, ("lookup-table",), online)
    backtest(_stored(tmp_path, AGAIN), SETTINGS, plan)
    known = _known(AGAIN, start_of(end))
    judged = _judged_by_hand(AGAIN, as_of, end)
    np.testing.assert_allclose(nights[0].jobs.measured, [run["throughput"] for run in judged])
    latest = None if online else start_of(as_of)
    visible = known if online else _known(AGAIN, start_of(as_of))
    expected = _history_by_hand(judged, visible, latest)
    found: History = nights[0].history
    days = found.days_since(nights[0].jobs.jobs.launched_at)
    columns = np.column_stack([found.last, found.mean, found.std, found.runs, days])
    np.testing.assert_allclose(columns, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("online", [False, True], ids=["frozen history", "online history"])
def test_an_attempt_that_was_known_before_is_neither_judged_nor_its_own_history(
    store: LocalStore, online: bool
) -> None:
    once = attempt(attempt_id="x", job_family="alone", completed_at="2026-01-06T12:00:00Z")
    again = once | {"completed_at": "2026-01-07T12:00:00Z"}
    new = once | {"attempt_id": "y", "completed_at": "2026-01-07T13:00:00Z", "throughput": 617.25}
    _stored(store.root, [*fleet(40, days=6), once, again, new])
    plan = Plan(1, date(2026, 1, 7), 1, ("family-median",), online)
    (told,) = backtest(store, FEW, plan)["comparators"]["family-median"]["nights"]
    expected = (0, 0.0) if online else (1, 1.0)  # online its last record counts, of this day
    assert (told["attempts"], told["coverage"]) == expected
    assert told["ratio"] == (None if online else pytest.approx(2))
