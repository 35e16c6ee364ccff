"""Models whose every prediction is known: they say one column of the features back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from leap_model.artifact import Artifact
from leap_model.catalogue import parse_catalogue
from leap_model.columns import Floats, Labels, Matrix
from leap_model.features import Schema
from leap_model.features.schema import NumberColumn
from leap_model.history import History, Outcomes, Snapshot, family_hashes, snapshot_as_of
from leap_model.model import Model
from leap_model.ranker import Ranker
from leap_model.ranking import rank_with
from leap_model.request import parse_request
from leap_model.source import Serving, StageSource, Versioned
from leap_model.switches import EVERYONE

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Echo(Model):
    """Predicts its only column, plus an offset, as samples per second."""

    offset: float = 0.0

    def predict(self, matrix: Matrix) -> Floats:
        return np.log(matrix[:, 0].astype(np.float64) + self.offset)


def hardware(name: str, rate: float = 100.0, **values: Any) -> dict[str, Any]:
    """A row of the catalogue; the job runs on it at `rate`. It costs 1 dollar unless told."""
    row = {"hardware_type": name, "rate": rate, "cost_per_hour": 1.0, **values}
    return {name: value for name, value in row.items() if value is not None}


def hand_made(
    types: Sequence[Mapping[str, Any]],
    column: str = "hardware.rate",
    *,
    offset: float = 0.0,
    required: tuple[str, ...] = (),
    rows: Mapping[str, int] | None = None,
    snapshot: Snapshot | None = None,
    **training: Any,
) -> Artifact:
    """An artifact that predicts one feature column."""
    catalogue = parse_catalogue(list(types))
    known = rows or {entry.hardware_type: 50 for entry in catalogue.types}
    return Artifact(
        model=Echo(1, (), {}, offset=offset),
        schema=Schema((NumberColumn(column),), required),
        catalogue=catalogue,
        snapshot=snapshot or snapshot_of({}),
        training={"target": "throughput", "hardware_rows": known, **training},
    )


def snapshot_of(runs: Mapping[str, Sequence[tuple[int, float]]]) -> Snapshot:
    """The snapshot of families with (completed_at, throughput) runs."""
    flat = [(family, at, rate) for family, entries in runs.items() for at, rate in entries]
    outcomes = Outcomes(
        family_hashes(Labels.of(family for family, _, _ in flat)),
        np.array([at for _, at, _ in flat], np.int64),
        np.log(np.array([rate for _, _, rate in flat], np.float64)),
    )
    return snapshot_as_of(outcomes, NEVER)


def job(**values: Any) -> dict[str, Any]:
    """A job on one host."""
    return {
        "job_name": "ctr-tower-20260112-101112",
        "model_type": "ctr",
        "num_trainers": 1,
        "batch_size": 64,
        **values,
    }


def answer_to(artifact: Artifact, candidates: Any, **values: Any) -> dict[str, Any]:
    """The answer of an artifact about a plain job; `job` among `values` replaces it."""
    document = {"job": job(), "candidates": candidates, **values}
    return rank_with(_serving(artifact), parse_request(document))


def rates(artifact: Artifact, candidates: Any, **values: Any) -> dict[str, float]:
    """What was predicted for each id."""
    answer = answer_to(artifact, candidates, **values)
    return {entry["id"]: round(entry["throughput"], 9) for entry in answer["preference"]}


def _serving(artifact: Artifact) -> Serving:
    return Serving(Versioned("v1", artifact), None, EVERYONE)


class _Fixed:
    """A source that always serves one artifact."""

    failures = 0

    def __init__(self, artifact: Artifact) -> None:
        self._serving = _serving(artifact)

    def current(self) -> Serving:
        return self._serving


def ranker_of(artifact: Artifact) -> Ranker:
    """A ranker over one artifact, without a store."""
    return Ranker(cast(StageSource, _Fixed(artifact)))


def history_row(values: History, at: int) -> tuple[float, float, float, float]:
    """(last, mean, std, runs) of one row, rounded."""
    parts = (values.last, values.mean, values.std, values.runs)
    return cast(
        tuple[float, float, float, float], tuple(round(float(part[at]), 9) for part in parts)
    )
