"""The live model, scored beside each new one: only on what it could have known."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from functions.retrain import live
from functions.retrain.evaluation import evaluate
from functions.retrain.learning.single import Single
from functions.retrain.nightly import retrain
from leap_model import Ranker
from leap_model.artifact import Artifact, pack, publish
from leap_model.pointer import Pointer, write_pointer
from leap_model.store import LocalStore
from tests.support import attempt, filled, fleet
from tests.unit.leap_model.builders import tiny_artifact
from tests.unit.retrain.nights import AS_OF, FEW, TINY, night, pointer_of

KEEN = replace(TINY, estimator=Single(trees=40, leaves=6, learning_rate=0.5))
"""Learns enough to look at history."""

FIGURES = {
    *(
        "from",
        "to",
        "attempts",
        "w5",
        "w10",
        "w15",
        "w20",
        "mdape",
        "ratio",
        "w20_by_gpu_hours",
        "cold",
    ),
    *("by_hardware", "by_model_type", "noise_ceiling_w20"),
}

Attempts = list[dict[str, Any]]


@pytest.fixture(scope="module")
def attempts() -> Attempts:
    """Thirteen days, 2026-01-01 to 13, of recurring jobs."""
    return fleet(416, days=13)


def _up_to(attempts: Attempts, day: int) -> Attempts:
    return [a for a in attempts if a["completed_at"] < f"2026-01-{day + 1:02}"]


def _january(day: int) -> date:
    return date(2026, 1, day)


def test_without_a_live_model_there_is_nothing_to_score(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, _up_to(attempts, 10))
    assert night(store)["live"] is None
    assert retrain(store, "dev", AS_OF, TINY)["live"] is None


def test_a_run_tells_version_date_and_figures_of_the_live_model(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, _up_to(attempts, 11))
    first = night(store)
    metrics = night(store, _january(12))
    told = metrics["live"]
    assert told.keys() == {"version", "as_of", "evaluation", "reason"}
    assert (told["version"], told["as_of"], told["reason"]) == (
        first["version"],
        "2026-01-11",
        None,
    )
    assert told["evaluation"].keys() >= FIGURES
    assert told["evaluation"].keys() == metrics["evaluation"].keys()
    for evaluation in (told["evaluation"], metrics["evaluation"]):
        assert (evaluation["from"], evaluation["to"]) == ("2026-01-11", "2026-01-11")
        assert evaluation["attempts"] == 32


def _strict(store: LocalStore, metrics: dict[str, Any]) -> None:
    """Metrics are JSON without NaN, and what the report keeps."""
    kept = store.read(f"reports/throughput/{metrics['version']}/metrics.json")
    assert json.loads(json.dumps(metrics, allow_nan=False)) == json.loads(kept or b"") == metrics


def test_metrics_are_strict_json_with_a_live_model_s_figures_without_and_with_none(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, _up_to(attempts, 11))
    first = night(store)
    _strict(store, first)
    second = night(store, _january(12))
    assert second["live"]["evaluation"]["w20"] is not None
    _strict(store, second)
    (store.root / f"models/throughput/{second['version']}/manifest.json").unlink()
    third = night(store, _january(13))
    assert third["live"]["evaluation"] is None
    _strict(store, third)


def test_of_a_day_without_usable_attempts_every_figure_is_null(
    store: LocalStore, attempts: Attempts
) -> None:
    blind = [{**a, "throughput": None} for a in attempts if a["completed_at"][:10] == "2026-01-11"]
    filled(store.root, [*_up_to(attempts, 10), *blind])
    night(store)
    metrics = night(store, _january(12))
    figures = metrics["live"]["evaluation"]
    assert (figures["attempts"], figures["w20"], figures["ratio"]) == (0, None, None)
    _strict(store, metrics)


def _answered(ranker: Ranker, entry: dict[str, Any]) -> float:
    """What the stage tells a launcher of the job of an attempt."""
    names = ("job_name", "model_type", "num_trainers", "batch_size", "config", "architecture")
    answer = ranker.rank(
        {
            "job": {name: entry[name] for name in names},
            "candidates": [{"hardware_type": entry["hardware_type"], "cost_per_hour": 1}],
            "launched_at": entry["launched_at"],
            "allow_untrained": True,
        }
    )
    return float(answer["preference"][0]["throughput"])


@pytest.mark.parametrize("day", [11, 13])
def test_the_figures_are_those_of_what_the_stage_would_have_answered(
    store: LocalStore, attempts: Attempts, day: int
) -> None:
    """Also several nights old, when its snapshot is."""
    judged = [
        {**a, "launched_at": a["completed_at"]}
        for a in attempts
        if a["completed_at"][:10] == f"2026-01-{day}"
    ]
    cold = attempt(
        attempt_id="cold",
        job_name="never-seen",
        launched_at=f"2026-01-{day}T08:00:00Z",
        completed_at=f"2026-01-{day}T09:00:00Z",
        config={"precision": "bf16", "data_readers": 8, "lr": 0.5},
        architecture={"params_m": 25.0, "gmacs": 4.0},
    )
    judged.append(cold)
    filled(store.root, [*_up_to(attempts, day - 1), *judged])
    night(store, settings=KEEN)
    ranker = Ranker.from_store(store.root)
    ratios = [_answered(ranker, entry) / entry["throughput"] for entry in judged]

    figures = night(store, _january(day + 1), KEEN)["live"]["evaluation"]
    assert figures["attempts"] == len(judged)
    assert figures["ratio"] == pytest.approx(median(ratios), rel=1e-12)
    assert figures["mdape"] == pytest.approx(median(abs(r - 1) for r in ratios), rel=1e-9)
    for band in (5, 10, 15, 20):
        within = [abs(ratio - 1) <= band / 100 for ratio in ratios]
        assert figures[f"w{band}"] == pytest.approx(sum(within) / len(within))
    assert figures["cold"] == {"attempts": 1, "w20": float(abs(ratios[-1] - 1) <= 0.2)}


Run = Callable[..., tuple[dict[str, Any], Any]]


@pytest.fixture
def scored(store: LocalStore, attempts: Attempts, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a night over attempts of which some are poisoned, after a live model of clean ones."""
    seen: list[Any] = []

    def watching(held_out: Any, predicted: Any, cold: Any, noise: Any = None) -> dict[str, Any]:
        seen.append(predicted)
        return evaluate(held_out, predicted, cold)

    monkeypatch.setattr(live, "evaluate", watching)

    def run(days: int, live_as_of: int, as_of: int, poison_from: str) -> tuple[Any, Any]:
        held = _up_to(attempts, days)
        clean = filled(store.root / "clean", held)
        if pointer_of(clean) is None:
            night(clean, _january(live_as_of), KEEN)
        poisoned = [
            {**a, "throughput": a["throughput"] * 1000} if a["completed_at"] >= poison_from else a
            for a in held
        ]
        dirty = filled(store.root / f"from-{poison_from}", poisoned)
        for part in ("models", "pointers"):
            shutil.copytree(clean.root / part, dirty.root / part)
        told = night(dirty, _january(as_of), KEEN, test_run=True)["live"]
        assert told["reason"] is None
        return told["evaluation"], seen[-1]

    return run


@pytest.mark.parametrize(
    ("days", "live_as_of", "as_of", "known_before"),
    [
        pytest.param(11, 11, 12, 11, id="of the night before"),
        pytest.param(13, 11, 14, 11, id="several nights old"),
        pytest.param(10, 13, 14, 10, id="of a date after the evaluation day"),
    ],
)
def test_the_live_model_s_history_ends_where_its_own_did_and_before_the_evaluation_day(
    scored: Run, days: int, live_as_of: int, as_of: int, known_before: int
) -> None:
    run = (days, live_as_of, as_of)
    clean, predicted = scored(*run, poison_from="9999")
    blind, blindly = scored(*run, poison_from=f"2026-01-{known_before}")
    np.testing.assert_array_equal(blindly, predicted)
    assert blind["ratio"] * 1000 == pytest.approx(clean["ratio"], rel=1e-12)
    assert blind["cold"]["attempts"] == clean["cold"]["attempts"]
    _, knowing = scored(*run, poison_from=f"2026-01-{known_before - 3:02}")
    assert (knowing != predicted).any()


@pytest.mark.parametrize("as_of", [11, 12])
def test_a_live_model_that_trained_on_the_evaluation_day_is_not_scored(
    store: LocalStore, attempts: Attempts, as_of: int
) -> None:
    filled(store.root, attempts)
    newer = night(store, _january(13))
    assert newer["window"]["to"] == "2026-01-11"
    older = night(store, _january(as_of))
    assert older["live"] == {
        "version": newer["version"],
        "as_of": "2026-01-13",
        "evaluation": None,
        "reason": "it was trained on days up to 2026-01-11, the evaluation day among them",
    }
    assert older["published"]
    assert night(store, _january(13))["live"]["evaluation"] is not None


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("name", "alter", "said"),
    [
        ("manifest.json", Path.unlink, "the artifact has no manifest"),
        ("forests/regressor.forest", _shorten, "forests/regressor.forest was altered"),
        ("model.json", Path.unlink, "the artifact lacks its file model.json"),
    ],
)
def test_a_live_model_that_does_not_load_is_told_of_and_stops_nothing(
    store: LocalStore,
    attempts: Attempts,
    name: str,
    alter: Callable[[Path], None],
    said: str,
) -> None:
    filled(store.root, _up_to(attempts, 10))
    first = night(store)
    alter(store.root / f"models/throughput/{first['version']}" / name)
    metrics = night(store, _january(12))
    assert metrics["pointed"]
    assert metrics["live"]["version"] == first["version"]
    assert metrics["live"]["evaluation"] is None
    assert metrics["live"]["reason"].startswith("it does not load: ")
    assert said in metrics["live"]["reason"]


def _serve(store: LocalStore, artifact: Artifact) -> None:
    """Point the stage at an artifact of 2026-01-05."""
    packed = pack(artifact)
    publish(store, "models/throughput/odd", packed)
    digest = packed.manifest_sha256
    pointer = Pointer(
        packed.version, "models/throughput/odd", digest, "2026-01-05", "2026-01-05T02:00:00Z"
    )
    write_pointer(store, "local", "throughput", pointer, None)


@pytest.mark.parametrize(
    "training",
    [
        *({}, {"window": None}, {"window": {}}, {"window": {"to": "x"}}, {"window": []}),
        *({"window": {"to": None}}, {"window": {"to": 5}}, {"window": {"from": "2026-01-01"}}),
    ],
)
def test_a_live_model_of_an_unknown_window_is_not_scored(
    store: LocalStore, attempts: Attempts, training: dict[str, Any]
) -> None:
    filled(store.root, _up_to(attempts, 3))
    _serve(store, tiny_artifact(**training))
    metrics = night(store, settings=FEW)
    assert metrics["pointed"]
    assert metrics["live"]["evaluation"] is None
    assert metrics["live"]["reason"] == "it does not say which days it was trained on"
    _strict(store, metrics)


def test_a_live_model_of_other_columns_is_scored_on_what_it_has(
    store: LocalStore, attempts: Attempts
) -> None:
    filled(store.root, _up_to(attempts, 6))
    _serve(store, tiny_artifact(window={"to": "2026-01-03"}))
    assert night(store, settings=FEW)["live"]["evaluation"]["attempts"] == 32


@pytest.mark.parametrize("window", [{"to": "2026-01-01"}, {"to": "2026-01-10"}, None])
def test_a_live_model_of_another_target_is_not_scored(
    store: LocalStore, attempts: Attempts, window: dict[str, Any] | None
) -> None:
    filled(store.root, _up_to(attempts, 3))
    _serve(store, tiny_artifact(target="utilization", window=window))
    metrics = night(store, settings=FEW)
    assert metrics["pointed"]
    assert metrics["live"]["as_of"] == "2026-01-05"
    assert metrics["live"]["evaluation"] is None
    assert metrics["live"]["reason"] == "it predicts utilization"
    _strict(store, metrics)


def test_infinite_figures_of_a_live_model_are_null_and_the_run_goes_on(store: LocalStore) -> None:
    filled(store.root, fleet(192, days=6, num_trainers=4))
    _serve(store, tiny_artifact(shift=1e4, window={"to": "2026-01-03"}))
    metrics = night(store, settings=FEW)
    figures = metrics["live"]["evaluation"]
    assert metrics["live"]["reason"] is None
    assert (figures["attempts"], figures["w20"]) == (32, 0.0)
    assert (figures["ratio"], figures["mdape"]) == (None, None)
    assert metrics["pointed"]
    _strict(store, metrics)
