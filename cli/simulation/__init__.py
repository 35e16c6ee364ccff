"""A synthetic fleet: attempts, the hardware they ran on, and the truth nobody measures.

The truth is the throughput of every attempt on every hardware type without noise: on types that
it did not run on, and on a type that arrives later in the window, too. Two limits of any
predictor follow from it. The ceiling of w20 is the share of measured attempts whose truth on the
type they ran on is within ±20 % of measured: who knows everything but the noise is right that
often. The regret of a choice is what the work costs on the chosen type over what it costs on the
best, less one: the cost of a sample is cost_per_hour × num_trainers ÷ (3600 × truth). No estimator
may read the truth or repeat the formulas behind it.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cli.simulation.fleet import draw_day, draw_fleet
from cli.simulation.marks import Mark, Marks
from cli.simulation.records import attempt_ids, attempt_records, draw_digests
from cli.simulation.writing import write_attempts, write_catalogue, write_truth

__all__ = ["Summary", "simulate"]


@dataclass(frozen=True)
class Summary:
    """What a simulated fleet holds; types and families count those with an attempt."""

    attempts: int
    days: int
    model_types: int
    hardware_types: int
    families: int
    files: list[Path]
    catalogue: Path
    truth: Path
    marks: list[Mark]


def simulate(
    out: Path,
    *,
    days: int,
    per_day: int,
    seed: int,
    start: dt.date = dt.date(2026, 1, 1),
    progress: Callable[[int], None] | None = None,
) -> Summary:
    """Write a synthetic fleet to `out`; the same arguments write the same bytes.

    Parameters
    ----------
    out : Path
        Folder to write, absent or empty: `attempts/YYYY-MM-DD.jsonl.gz` by day of completion,
        `hardware.json`, and `truth/YYYY-MM-DD.parquet` with the noise-free throughput of every
        attempt on every hardware type, in samples per second of the whole job.
    days, per_day : int
        Days of the window and attempts completed on each, both at least 1.
    seed : int
        Which fleet, at least 0.
    start : date
        First day, UTC.
    progress : callable, optional
        Called after every day with the number of attempts written so far.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        If an argument is out of range, or `out` is a file or holds anything.
    """
    _check(out, days=days, per_day=per_day, seed=seed)
    attempts, truth = out / "attempts", out / "truth"
    attempts.mkdir(parents=True)
    truth.mkdir()
    fleet = draw_fleet(seed, days, per_day)
    families: set[int] = set()
    types: set[int] = set()
    files = []
    marks = Marks()
    for number in range(days):
        date = start + dt.timedelta(days=number)
        # A stream of its own, so that no day depends on how many draws the one before took.
        rng = np.random.default_rng([seed, 1, number])
        day = draw_day(fleet, rng, number, per_day)
        digests, runs = draw_digests(rng, per_day), rng.integers(0, 40, per_day).tolist()
        records = attempt_records(fleet, day, date, digests, runs)
        files.append(write_attempts(attempts, date, marks.counted(records)))
        write_truth(truth, date, fleet, day, attempt_ids(date, digests))
        families.update(day.family.tolist())
        types.update(day.hardware.tolist())
        if progress is not None:
            progress(per_day * (number + 1))
    return Summary(
        attempts=days * per_day,
        days=days,
        model_types=len({int(fleet.families.model[family]) for family in families}),
        hardware_types=len(types),
        families=len(families),
        files=files,
        catalogue=write_catalogue(out / "hardware.json"),
        truth=truth,
        marks=marks.figures(),
    )


def _check(out: Path, **numbers: int) -> None:
    for name, least in (("days", 1), ("per_day", 1), ("seed", 0)):
        if numbers[name] < least:
            raise ValueError(f"{name} is {numbers[name]}, but must be at least {least}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"out is {out}, but must be a new or an empty folder")
