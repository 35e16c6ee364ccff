"""A second simulated fleet of another make, so that nothing is tuned to the formulas of one.

It shares no formula with the fleet of `leap simulate`: step times are affine in quantised batches,
hosts scale by the universal scalability law, readers form a queue, memory has regimes, and noise
has heavy tails, memory and bad days. It writes the same files, so that every tool reads both.
"""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.second_fleet.catalogue import load_types, write_catalogue
from bench.second_fleet.launches import draw_day
from bench.second_fleet.noise import Weather
from bench.second_fleet.population import draw_population
from bench.second_fleet.records import attempts_of
from bench.second_fleet.writing import write_attempts, write_truth
from cli.simulation.marks import Mark, Marks

__all__ = ["write_fleet"]


def write_fleet(
    out: Path,
    *,
    days: int,
    per_day: int,
    seed: int,
    start: dt.date = dt.date(2026, 1, 1),
    progress: Callable[[int], None] = lambda written: None,
) -> list[Mark]:
    """Write `attempts/`, `hardware.json` and `truth/` to `out`; same arguments, same bytes.

    Parameters
    ----------
    out : Path
        Folder to write, absent or empty.
    days, per_day : int
        Days of the window, and attempts completed on each, both at least 1.
    seed : int
        Which fleet, at least 0.
    start : date
        First day, UTC.
    progress : callable
        Called after every day with the number of attempts written so far.

    Returns
    -------
    list of Mark
        The fleet's marks beside the published ones.

    Raises
    ------
    ValueError
        If an argument is out of range, or `out` is a file or holds anything.
    """
    if min(days, per_day) < 1 or seed < 0:
        raise ValueError("days and per_day must be at least 1, seed at least 0")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"out is {out}, but must be a new or an empty folder")
    (out / "attempts").mkdir(parents=True)
    (out / "truth").mkdir()
    types = load_types()
    write_catalogue(out / "hardware.json")
    population = draw_population(np.random.default_rng([seed, 77]), types, days, per_day)
    weather = Weather(np.random.default_rng([seed, 78]), len(population.kind), len(types))
    marks = Marks()
    for number in range(days):
        date = start + dt.timedelta(days=number)
        rng = np.random.default_rng([seed, 79, number])
        day = draw_day(rng, population, types, weather.next_day(), number, per_day)
        records = attempts_of(rng, population, types, day, date)
        write_attempts(out / "attempts", date, marks.counted(records))
        write_truth(out / "truth", date, types, day, records)
        progress(per_day * (number + 1))
    return marks.figures()
