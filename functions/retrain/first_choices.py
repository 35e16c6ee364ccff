"""Which hardware type a ranking would put first, by model type."""

from typing import Any

import numpy as np

from functions.retrain.elsewhere import on_types
from functions.retrain.judged import Judged
from functions.retrain.training import Trained
from leap_model.catalogue import Catalogue, HardwareType
from leap_model.columns import Floats, Ints, Labels
from leap_model.premium import underused
from leap_model.request import Candidate

MODEL_TYPES = 12
ATTEMPTS_EACH = 25


def first_choices(
    trained: Trained, judged: Judged, catalogue: Catalogue, least_rows: int, seed: int
) -> dict[str, Any] | None:
    """Attempts by the type that would be ranked first, apart for the commonest model types.

    Each attempt is asked about, with its own hosts, batch and history, on every type of the
    catalogue that has a cost and enough training rows. Work per dollar and premium types are as in
    contract section 4, without a model of utilization.

    Parameters
    ----------
    trained, judged, catalogue : Trained, Judged, Catalogue
        The model, the attempts that judge it, and the types with their costs.
    least_rows : int
        Training rows that a type needs to be ranked.
    seed : int
        Chooses among the attempts of a model type with more than `ATTEMPTS_EACH`.

    Returns
    -------
    dict or None
        `candidates` (types that could be first) and `model_types`: {NAME: {"attempts", "asked",
        "first": {TYPE: attempts asked}}}, commonest first. None where the target is no throughput,
        or fewer than two types could be ranked.
    """
    types = _ranked(trained, catalogue, least_rows)
    if trained.target.name != "throughput" or len(types) < 2 or not len(judged.attempts):
        return None
    asked = _asked(judged.attempts.jobs.model_type, seed)
    rows = np.concatenate(list(asked.values()))
    each, column = (
        grid.ravel() for grid in np.meshgrid(rows, np.arange(len(types)), indexing="ij")
    )
    jobs = on_types(judged.attempts.jobs, [t.hardware_type for t in types], each, column)
    before = judged.before[each]
    throughput = trained.predict(jobs, judged.history.take(each), catalogue, before)
    shape = (len(rows), len(types))
    hosts, batch = judged.attempts.jobs.num_trainers, judged.attempts.jobs.batch_size
    accelerators = jobs.accelerators_per_host.reshape(shape)
    best = [
        _first(types, hosts[row], batch[row], accelerators[at], throughput.reshape(shape)[at])
        for at, row in enumerate(rows)
    ]
    counts = np.bincount(judged.attempts.jobs.model_type.codes)
    result: dict[str, Any] = {}
    start = 0
    for code, chosen in asked.items():
        own = best[start : start + len(chosen)]
        start += len(chosen)
        first = {name: own.count(name) for name in sorted({n for n in own if n is not None})}
        name = judged.attempts.jobs.model_type.values[code]
        result[name] = {"attempts": int(counts[code]), "asked": len(own), "first": first}
    return {"candidates": [t.hardware_type for t in types], "model_types": result}


def _ranked(trained: Trained, catalogue: Catalogue, least_rows: int) -> list[HardwareType]:
    """Types that a ranking would not leave out for want of rows or of a cost."""
    return [
        entry
        for entry in catalogue.types
        if trained.hardware_rows.get(entry.hardware_type, 0) >= least_rows
        and entry.host_cost(entry.specifications.get("accelerators_per_host")) is not None
    ]


def _asked(models: Labels, seed: int) -> dict[int, Ints]:
    """Rows of the attempts to ask about, by the code of their model type, commonest first."""
    draw = np.random.default_rng(seed)
    counts = np.bincount(models.codes, minlength=len(models.values))
    order = sorted(range(len(counts)), key=lambda code: (-counts[code], models.values[code]))
    chosen: dict[int, Ints] = {}
    for code in order[:MODEL_TYPES]:
        rows = np.flatnonzero(models.codes == code)
        if len(rows) > ATTEMPTS_EACH:
            rows = np.sort(draw.choice(rows, ATTEMPTS_EACH, replace=False))
        if len(rows):
            chosen[code] = rows
    return chosen


def _first(
    types: list[HardwareType], hosts: float, batch: float, accelerators: Floats, throughput: Floats
) -> str | None:
    """The type first in the preference of one job, None where every type is left out."""
    candidates = [
        _candidate(entry, hosts, batch, None if np.isnan(known) else float(known))
        for entry, known in zip(types, accelerators, strict=True)
    ]
    costs = np.array([candidate.job_cost_per_hour for candidate in candidates])
    per_dollar = throughput * 3600.0 / costs
    unknown = np.full(len(types), np.nan)
    wasteful = underused(candidates, throughput, per_dollar, unknown)
    kept = [at for at, why in enumerate(wasteful) if why is None and np.isfinite(per_dollar[at])]
    if not kept:
        return None
    return types[min(kept, key=lambda at: (-per_dollar[at], candidates[at].id))].hardware_type


def _candidate(
    entry: HardwareType, hosts: float, batch: float, accelerators: float | None
) -> Candidate:
    per_host = accelerators or entry.specifications.get("accelerators_per_host")
    cost = entry.host_cost(per_host)
    if cost is None:
        raise ValueError(f"{entry.hardware_type} has no cost")
    name = entry.hardware_type
    return Candidate(name, entry, cost, int(hosts), float(batch), accelerators, {}, {})
