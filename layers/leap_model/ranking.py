"""What a preference is: candidates in order of predicted work per dollar (contract section 4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.admission import admitted, lacks_features
from leap_model.answer import ALL_EXCLUDED, MISSING_FEATURE, answer
from leap_model.artifact import Artifact
from leap_model.columns import Floats, Jobs, Labels, Matrix, Objects
from leap_model.history import Hashes, family_hashes
from leap_model.intervals import COLD, EXTRAPOLATED, UNFAMILIAR
from leap_model.prediction import predict
from leap_model.premium import underused
from leap_model.references import Known, what_is_known
from leap_model.request import Candidate, Excluded, Request
from leap_model.source import Serving
from leap_model.times import now_us


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """What the throughput model was shown of a request.

    `matrix` is (candidates, columns), one row an id: the candidates that a model could speak
    about, in the request's order. NaN is a missing value.
    """

    ids: tuple[str, ...]
    columns: tuple[str, ...]
    matrix: Matrix


Observer: TypeAlias = Callable[[FeatureRows], None]
"""Given the feature rows while a ranking is made: it keeps them, and leaves work for later."""


def rank_with(
    serving: Serving,
    request: Request,
    *,
    premium_filter: bool = True,
    observe: Observer | None = None,
) -> dict[str, Any]:
    """The answer to a valid request with candidates.

    Parameters
    ----------
    serving : Serving
        The models; the answer repeats their versions.
    request : Request
        As `parse_request` gave it.
    premium_filter : bool
        Whether premium types that the job would not use well enough are left out.
    observe : callable, optional
        Gets the feature rows, once, where there is a prediction.
    """
    artifact = serving.throughput.artifact
    candidates, excluded = admitted(artifact, request)
    lacking = lacks_features(artifact, request, candidates)
    if lacking or not candidates:
        reason = MISSING_FEATURE if lacking else ALL_EXCLUDED
        shown = [entry.to_json() for entry in excluded]
        return answer(models=serving.versions(), excluded=shown, reason=reason)

    jobs = _jobs(request, candidates)
    families = family_hashes(jobs.family)
    ids = tuple(candidate.id for candidate in candidates)
    predicted = _predict(artifact, jobs, families, _observing(observe, ids))
    throughput, runs = predicted.values, predicted.runs
    costs = np.array([candidate.job_cost_per_hour for candidate in candidates])
    per_dollar = throughput * 3600.0 / costs
    scores = per_dollar.tolist()
    if not all(map(isfinite, scores)):  # nor is it where the throughput is not
        raise FloatingPointError("a prediction is not finite")
    utilization = _utilization(serving, request, candidates, jobs, families)

    wasteful: list[str | None] = [None] * len(candidates)
    if premium_filter:
        wasteful = underused(candidates, throughput, per_dollar, utilization)
    for candidate, why in zip(candidates, wasteful, strict=True):
        if why is not None:
            name = candidate.hardware.hardware_type
            excluded.append(Excluded(candidate.id, name, "premium_underused", why))
    trained = np.ones(len(candidates), bool)
    if request.allow_untrained:  # no other is admitted
        trained = _trained(artifact, candidates)
    doubts = _doubts(artifact, predicted, trained)
    columns = (throughput.tolist(), scores, utilization.tolist(), doubts)
    every = map(_entry, candidates, *columns)
    entries = [entry for entry, why in zip(every, wasteful, strict=True) if why is None]
    entries.sort(key=lambda entry: (-entry["samples_per_dollar"], entry["id"]))
    return answer(
        preference=entries,
        excluded=[entry.to_json() for entry in excluded],
        models=serving.versions(),
        reason=None if entries else ALL_EXCLUDED,
        cold_start=bool(runs[0] == 0),
    )


_Shown: TypeAlias = Callable[[tuple[str, ...], Matrix], None]


def _observing(observe: Observer | None, ids: tuple[str, ...]) -> _Shown | None:
    if observe is None:
        return None
    return lambda columns, matrix: observe(FeatureRows(ids, columns, matrix))


@dataclass(frozen=True, slots=True)
class _Predicted:
    """The artifact's target for n jobs, the earlier runs of their families, and what resembles
    them. All (n,)."""

    values: Floats
    runs: Floats
    known: Known | None


def _predict(
    artifact: Artifact, jobs: Jobs, families: Hashes, shown: _Shown | None = None
) -> _Predicted:
    history = artifact.snapshot.lookup(families[:1])  # candidates are of one family
    known = artifact.known(jobs, families)
    parts = (artifact.target, artifact.model, artifact.schema)
    values = predict(*parts, jobs, history, artifact.catalogue, shown, known)
    return _Predicted(values, np.full(len(jobs), history.runs[0]), known)


def _doubts(
    artifact: Artifact, predicted: _Predicted, trained: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """What each entry says of how sure its prediction is."""
    what = what_is_known(predicted.runs, predicted.known)
    told = list(map(_flags, what.tolist(), trained.tolist()))
    if artifact.intervals is None:
        return told
    group = np.where(trained, what, EXTRAPOLATED)
    bounds = artifact.intervals.around(predicted.values, group)
    names = (f"{artifact.target.name}_low", f"{artifact.target.name}_high")
    shown = zip(told, *bounds, strict=True)
    return [dict(zip(names, map(float, pair), strict=True)) | flag for flag, *pair in shown]


def _flags(what: int, trained: bool) -> dict[str, Any]:
    flags: dict[str, Any] = {}
    if what >= COLD:
        flags["cold"] = True
        if what == UNFAMILIAR:
            flags["unfamiliar"] = True
    if not trained:
        flags["extrapolated"] = True
    return flags


def _utilization(
    serving: Serving,
    request: Request,
    candidates: Sequence[Candidate],
    jobs: Jobs,
    families: Hashes,
) -> Floats:
    """(n,) predicted utilization, NaN where no model can speak about a candidate."""
    unknown = np.full(len(candidates), np.nan)
    if serving.utilization is None:
        return unknown
    artifact = serving.utilization.artifact
    if lacks_features(artifact, request, candidates):
        return unknown
    return np.where(
        _trained(artifact, candidates), _predict(artifact, jobs, families).values, unknown
    )


def _trained(artifact: Artifact, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    types = [candidate.hardware.hardware_type for candidate in candidates]
    return np.array([name in artifact.trained for name in types])


def _jobs(request: Request, candidates: Sequence[Candidate]) -> Jobs:
    """The candidates as columns: the form that training gives its attempts."""
    job = request.job
    rows = len(candidates)
    same = np.zeros(rows, np.int32)
    launched_at = now_us() if request.launched_at is None else request.launched_at
    return Jobs(
        model_type=Labels(same, (job.model_type,)),
        hardware_type=Labels.of(candidate.hardware.hardware_type for candidate in candidates),
        family=Labels(same, (job.family,)),
        num_trainers=np.array([float(candidate.num_trainers) for candidate in candidates]),
        batch_size=np.array([candidate.batch_size for candidate in candidates]),
        accelerators_per_host=np.array(
            [candidate.accelerators_per_host or np.nan for candidate in candidates]
        ),
        launched_at=np.full(rows, launched_at, np.int64),
        config=Objects.of_rows([candidate.config for candidate in candidates]),
        allocation=Objects.of_rows([candidate.allocation for candidate in candidates]),
        architecture=Objects.of_rows([job.architecture]),
    )


def _entry(
    candidate: Candidate,
    throughput: float,
    per_dollar: float,
    utilization: float,
    doubts: Mapping[str, Any],
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": candidate.id,
        "hardware_type": candidate.hardware.hardware_type,
        "throughput": throughput,
        "cost_per_hour": candidate.cost_per_hour,
        "num_trainers": candidate.num_trainers,
        "samples_per_dollar": per_dollar,
    }
    if not isnan(utilization):
        entry["utilization"] = utilization
    entry.update(doubts)
    return entry
