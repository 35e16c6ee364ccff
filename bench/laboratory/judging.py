"""One method on one night: what it says first, then what that was worth."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.laboratory.candidates import Asked, ask_all
from bench.laboratory.decisions import Stakes, decisions
from bench.laboratory.methods import Method
from bench.laboratory.truth import Truth, read_truth
from functions.retrain.ceiling import Noise
from functions.retrain.evaluation import evaluate
from functions.retrain.nights import Night
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import per_host_of
from leap_model.times import day_of


@dataclass(frozen=True, slots=True)
class Exam:
    """A night's questions, and the marks that no method sees.

    `stakes` are of the jobs at `sample`, which are asked about on every type; None without truth.
    """

    night: Night
    asked: Asked | None
    sample: Ints
    stakes: Stakes | None
    noise: Noise | None
    ceiling: float | None
    """Share of the night's attempts whose noise-free throughput, times the best constant factor,
    lies within ±20 % of measured: what the truth itself would score."""


def set_exam(night: Night, ids: Sequence[str], truth: Path | None, most: int) -> Exam:
    """The questions of a night.

    Parameters
    ----------
    night : Night
        What is asked of methods.
    ids : sequence of str
        The attempt ids of its jobs.
    truth : Path, optional
        Folder of the noise-free throughput; without it nothing is asked about other types.
    most : int
        Attempts that are asked about on every type, at equal steps through the night's.

    Raises
    ------
    TruthError
        The truth lacks a day or an attempt.
    """
    count = len(night.jobs)
    sample = np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64))
    noise = night.noise()
    if truth is None or not count:
        return Exam(night, None, sample, None, noise, None)
    days = sorted({day_of(int(moment)) for moment in night.jobs.completed_at})
    known = read_truth(truth, days, ids, night.catalogue)
    hosts = np.zeros(known.throughput.shape, bool)
    hosts[sample] = ~np.isnan(known.throughput[sample])
    asked = ask_all(night, known.types, hosts)
    stakes = _stakes(night, known, sample)
    return Exam(night, asked, sample, stakes, noise, _ceiling(night, known))


def sit(exam: Exam, method: Method) -> dict[str, Any]:
    """What a method gets: `evaluation` of the attempts that it answers, `hits` (a character an
    attempt: 1 within ±20 %, 0 not, - no answer), `decisions` where there is truth, `intervals`
    where it has any, and seconds."""
    night = exam.night
    started = time.perf_counter()
    asked = night if exam.asked is None else exam.asked.night
    judged = None if method.judge is None else method.judge(asked)
    predicted = method.predict(asked) if judged is None else judged.predicted
    seconds = time.perf_counter() - started
    own = predicted if exam.asked is None else exam.asked.own(predicted)
    answered = np.flatnonzero(~np.isnan(own))
    cold = night.history.runs == 0
    marks = np.full(len(own), "-")
    near = np.abs(own[answered] / night.jobs.measured[answered] - 1) <= 0.20
    marks[answered] = np.where(near, "1", "0")
    return {
        "rows": len(night.training),
        "evaluation": evaluate(
            night.jobs.take(answered), own[answered], cold[answered], exam.noise
        ),
        "coverage": len(answered) / len(own) if len(own) else None,
        "hits": "".join(marks),
        "cold": "".join(np.where(cold, "1", "0")),
        "true_ceiling_w20": exam.ceiling,
        "decisions": _decided(exam, method, predicted),
        "intervals": None if judged is None else judged.coverage(night.jobs.measured),
        "seconds": round(seconds, 2),
    }


def _decided(exam: Exam, method: Method, predicted: Floats) -> dict[str, Any] | None:
    if exam.asked is None or exam.stakes is None or not method.speaks_of_types:
        return None
    return decisions(exam.stakes, exam.asked.grid(predicted)[exam.sample])


def _stakes(night: Night, truth: Truth, sample: Ints) -> Stakes:
    attempts = night.jobs.take(sample)
    jobs = attempts.jobs
    per_hour = np.array([_host_cost(night.catalogue, name) for name in truth.types])
    places = {name: at for at, name in enumerate(truth.types)}
    of_label = [places.get(name, -1) for name in jobs.hardware_type.values]
    used = np.array([*of_label, -1], np.int64)[jobs.hardware_type.codes]
    per_host = per_host_of(jobs, Hardware(jobs, night.catalogue))
    return Stakes(
        throughput=truth.throughput[sample],
        dollars_per_hour=per_hour * jobs.num_trainers[:, None],
        used=used,
        accelerator_hours=attempts.accelerator_hours,
        dollars=attempts.accelerator_hours / per_host * np.append(per_hour, np.nan)[used],
        cold=night.history.runs[sample] == 0,
    )


def _host_cost(catalogue: Catalogue, name: str) -> float:
    """Dollars an hour of one host of a type, NaN where the catalogue does not say."""
    known = catalogue.find(name)
    if known is None:
        return np.nan
    cost = known.host_cost(known.specifications.get("accelerators_per_host"))
    return np.nan if cost is None else cost


def _ceiling(night: Night, truth: Truth) -> float | None:
    used = night.jobs.jobs.hardware_type
    true = truth.on([used.values[code] for code in used.codes])
    ratio = true / night.jobs.measured
    ratio = ratio[~np.isnan(ratio)]
    return best_share(ratio) if len(ratio) else None


def best_share(ratio: Floats) -> float:
    """The greatest share of predicted ÷ measured within ±20 % that one factor on all gives."""
    # The best factor puts one of the ratios on the edge of the band.
    ordered = np.sort(ratio)
    upto = np.searchsorted(ordered, ordered * 1.2 / 0.8 * (1 + 1e-12), side="right")
    return float((upto - np.arange(len(ordered))).max() / len(ordered))
