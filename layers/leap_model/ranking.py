"""What a preference is: candidates in order of predicted work per dollar (contract section 4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from leap_model import limits
from leap_model.answer import ALL_EXCLUDED, MISSING_FEATURE, answer
from leap_model.artifact import Artifact
from leap_model.columns import Jobs, Labels, Objects
from leap_model.history import family_hashes
from leap_model.prediction import predict
from leap_model.premium import underused
from leap_model.request import Candidate, Excluded, Request, parse_candidate
from leap_model.times import now_us


def rank_with(artifact: Artifact, version: str, request: Request) -> dict[str, Any]:
    """The answer to a valid request from one model.

    Parameters
    ----------
    artifact : Artifact
        The throughput model.
    version : str
        Its name, repeated in the answer.
    request : Request
        As `parse_request` gave it, with candidates.
    """
    models = {str(artifact.training["target"]): version}
    candidates, excluded = _admitted(artifact, request)
    lacking = _lacks_features(artifact, request, candidates)
    if lacking or not candidates:
        reason = MISSING_FEATURE if lacking else ALL_EXCLUDED
        return answer(models=models, excluded=[e.to_json() for e in excluded], reason=reason)

    jobs = _jobs(request, candidates)
    history = artifact.snapshot.lookup(family_hashes(jobs.family))
    throughput = predict(artifact.model, artifact.schema, jobs, history, artifact.catalogue)
    costs = np.array([candidate.job_cost_per_hour for candidate in candidates])
    per_dollar = throughput * 3600.0 / costs
    if not (np.all(np.isfinite(throughput)) and np.all(np.isfinite(per_dollar))):
        raise FloatingPointError("a prediction is not finite")

    wasteful = underused(candidates, throughput, per_dollar)
    excluded += [
        Excluded(candidate.id, candidate.hardware.hardware_type, "premium_underused")
        for candidate, is_wasteful in zip(candidates, wasteful, strict=True)
        if is_wasteful
    ]
    kept = [at for at in range(len(candidates)) if not wasteful[at]]
    kept.sort(key=lambda at: (-per_dollar[at], candidates[at].id))
    return answer(
        preference=[
            _entry(artifact, candidates[at], float(throughput[at]), float(per_dollar[at]))
            for at in kept
        ],
        excluded=[entry.to_json() for entry in excluded],
        models=models,
        reason=None if kept else ALL_EXCLUDED,
        cold_start=bool(history.runs[0] == 0),
    )


def _admitted(artifact: Artifact, request: Request) -> tuple[list[Candidate], list[Excluded]]:
    """Candidates fit to be ranked, and the others with their reasons, in the request's order."""
    admitted: dict[str, Candidate] = {}
    excluded: list[Excluded] = []
    seen: set[str] = set()
    for value in request.candidates:
        parsed = parse_candidate(value, request.job, artifact.catalogue)
        if parsed.id is not None and parsed.id in seen:
            name = parsed.hardware.hardware_type if isinstance(parsed, Candidate) else None
            excluded.append(Excluded(parsed.id, name or parsed.id, "duplicate"))
            continue
        if parsed.id is not None:
            seen.add(parsed.id)
        if isinstance(parsed, Excluded):
            excluded.append(parsed)
        elif _trained(artifact, parsed) or request.allow_untrained:
            admitted[parsed.id] = parsed
        else:
            name = parsed.hardware.hardware_type
            excluded.append(Excluded(parsed.id, name, "untrained_hardware"))
    return list(admitted.values()), excluded


def _trained(artifact: Artifact, candidate: Candidate) -> bool:
    least = int(artifact.training.get("min_hardware_rows", limits.MIN_HARDWARE_ROWS))
    return artifact.hardware_rows(candidate.hardware.hardware_type) >= least


def _lacks_features(artifact: Artifact, request: Request, candidates: list[Candidate]) -> bool:
    """Whether the request leaves out too much of what training nearly always had.

    An entry counts as there if the job or any candidate has it.
    """
    required = artifact.schema.required
    present = {f"architecture.{name}" for name in request.job.architecture}
    for config in (request.job.config, *(candidate.config for candidate in candidates)):
        present |= {f"config.{name}" for name, value in config.items() if value is not None}
    missing = sum(name not in present for name in required)
    return missing > limits.MOST_MISSING * len(required)


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
        config=Objects.of([candidate.config for candidate in candidates]),
        allocation=Objects.of([candidate.allocation for candidate in candidates]),
        architecture=Objects.of([job.architecture]).take(same),
    )


def _entry(
    artifact: Artifact, candidate: Candidate, throughput: float, per_dollar: float
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": candidate.id,
        "hardware_type": candidate.hardware.hardware_type,
        "throughput": throughput,
        "cost_per_hour": candidate.cost_per_hour,
        "num_trainers": candidate.num_trainers,
        "samples_per_dollar": per_dollar,
    }
    if not _trained(artifact, candidate):
        entry["extrapolated"] = True
    return entry
