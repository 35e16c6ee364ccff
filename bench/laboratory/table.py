"""A table of methods over nights: what is missing of it is made, the rest is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from bench.laboratory.judging import Exam, set_exam, sit
from bench.laboratory.methods import Method
from bench.laboratory.results import Results
from functions.retrain.coverage import coverage_over
from functions.retrain.differences import paired
from functions.retrain.nights import Past, read_past
from functions.retrain.settings import Settings
from functions.retrain.window import evaluation_day
from leap_model.reading import partition_days
from leap_model.store import Store

MEASURES = 1
"""Goes up when a result of the same night and method would hold something else."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which nights, on how many days each, and how many attempts of each on every type."""

    nights: int
    first: date | None = None
    horizon_days: int = 1
    most: int = 1_000


def nights_of(store: Store, plan: Plan) -> list[date]:
    """The nights of a plan; by default the last ones of the store."""
    first = plan.first
    if first is None:
        first = evaluation_day(date.max, partition_days(store)) - timedelta(days=plan.nights - 1)
    return [first + timedelta(days=at) for at in range(plan.nights)]


def fill(
    store: Store,
    truth: Path | None,
    settings: Settings,
    plan: Plan,
    methods: Sequence[Method],
    results: Results,
    watch: Callable[[str], None] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Every method's results, one a night, those that were there as they were.

    Raises
    ------
    TrainingError, StoreError, CatalogueError, TruthError
        A night cannot be had. What was made before it is kept.
    """
    past: Past | None = None
    filled: dict[str, list[dict[str, Any]]] = {method.name: [] for method in methods}
    for as_of in nights_of(store, plan):
        exam: Exam | None = None
        for method in methods:
            key = settings_of(method, settings, plan)
            known = results.read(as_of, method.name, key)
            if known is None:
                if watch is not None:
                    watch(f"{as_of} {method.name}")
                if past is None:
                    first = nights_of(store, plan)[0]
                    past = read_past(store, settings, plan.nights, first, plan.horizon_days)
                if exam is None:
                    night = past.night(as_of, settings)
                    exam = set_exam(night, past.ids(as_of), truth, plan.most)
                found = {"as_of": as_of.isoformat(), **sit(exam, method)}
                known = results.write(as_of, method.name, key, found)
            filled[method.name].append(known)
    return filled


def settings_of(method: Method, settings: Settings, plan: Plan) -> dict[str, Any]:
    """What a result depends on besides the fleet and the night."""
    return {
        "constants": dict(method.constants),
        "target": settings.target.name,
        "window_days": settings.window_days,
        "seed": settings.seed,
        "horizon_days": plan.horizon_days,
        "most": plan.most,
        "measures": MEASURES,
    }


def summary(
    filled: Mapping[str, Sequence[Mapping[str, Any]]], baseline: str
) -> dict[str, dict[str, Any]]:
    """Each method's figures over the nights, and its difference in w20 from a baseline.

    A difference is of a night's attempts that both answer. Shares of new and known families are
    over the attempts of all nights; the rest are medians of nights.
    """
    return {name: _summary(nights, filled[baseline]) for name, nights in filled.items()}


def _summary(
    nights: Sequence[Mapping[str, Any]], baseline: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    w20 = [night["evaluation"]["w20"] for night in nights]
    known = [share for share in w20 if share is not None]
    decided = ("best_first", "regret", "regret_by_gpu_hours", "pairwise", "saving", "coverage")
    return {
        "w20": _median(w20),
        "least": min(known, default=None),
        "most": max(known, default=None),
        "w10": _median([night["evaluation"]["w10"] for night in nights]),
        "mdape": _median([night["evaluation"]["mdape"] for night in nights]),
        **{part: _pooled(nights, part) for part in ("cold", "warm")},
        "coverage": _median([night["coverage"] for night in nights]),
        "decisions": {
            part: {
                name: _median([_decision(night, part, name) for night in nights])
                for name in decided
            }
            for part in ("all", "cold", "warm")
        },
        # Results of before intervals were looked at have none.
        "intervals": coverage_over([night.get("intervals") for night in nights]),
        "difference": paired(differences(nights, baseline)),
        "true_ceiling_w20": _median([night["true_ceiling_w20"] for night in nights]),
        "noise_ceiling_w20": _median(
            [night["evaluation"]["noise_ceiling_w20"] for night in nights]
        ),
        "seconds": _median([night["seconds"] for night in nights]),
    }


def differences(
    nights: Sequence[Mapping[str, Any]], baseline: Sequence[Mapping[str, Any]]
) -> list[float]:
    """Of each night with attempts that both answer, how much more of them are within ±20 %."""
    found = []
    for ours, theirs in zip(nights, baseline, strict=True):
        own, other = (np.array(list(night["hits"]), "<U1") for night in (ours, theirs))
        both = (own != "-") & (other != "-")
        if both.any():
            found.append(float(np.mean(own[both] == "1") - np.mean(other[both] == "1")))
    return found


def _decision(night: Mapping[str, Any], part: str, name: str) -> float | None:
    told = night["decisions"]
    if told is None:
        return None
    share: float | None = (told if part == "all" else told[part])[name]
    return share


def _pooled(nights: Sequence[Mapping[str, Any]], part: str) -> float | None:
    shares = [night["evaluation"][part] for night in nights]
    counted = [entry for entry in shares if entry["attempts"]]
    total = sum(entry["attempts"] for entry in counted)
    return sum(entry["w20"] * entry["attempts"] for entry in counted) / total if total else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
