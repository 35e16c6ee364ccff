"""The noise-free throughput of simulated attempts, read only to score what was predicted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats
from leap_model.errors import LeapError


class TruthError(LeapError):
    """The truth of an attempt is not there, or its file is none."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What n attempts would do on each of some hardware types.

    `types` are the catalogue's own names. `throughput` (n, types) is in samples per second of the
    whole job, NaN where the attempt cannot run.
    """

    types: tuple[str, ...]
    throughput: Floats

    def on(self, types: Sequence[str]) -> Floats:
        """(n,) the throughput of each attempt on a type of its own, NaN for one not in it."""
        places = {name: at for at, name in enumerate(self.types)}
        columns = np.array([places.get(name, -1) for name in types], np.int64)
        known = np.column_stack([self.throughput, np.full(len(self.throughput), np.nan)])
        values: Floats = known[np.arange(len(columns)), columns]
        return values


def read_truth(
    folder: Path, days: Iterable[date], ids: Sequence[str], catalogue: Catalogue
) -> Truth:
    """The truth of attempts, in the order of their ids.

    Parameters
    ----------
    folder : Path
        `YYYY-MM-DD.parquet` by day of completion: `attempt_id`, `hardware_type`, and a column a
        hardware type, as `leap simulate` writes them.
    days : iterable of date
        The days on which the attempts completed.
    ids : sequence of str
        n attempt ids.
    catalogue : Catalogue
        Whose own names the types get; types that it does not know are left out.

    Raises
    ------
    TruthError
        A day or an attempt is not there, or two days have different types.
    """
    places = {name: at for at, name in enumerate(ids)}
    types: tuple[str, ...] | None = None
    values = np.zeros((0, 0))
    found = np.zeros(len(ids), bool)
    for day in days:
        path = folder / f"{day.isoformat()}.parquet"
        if not path.is_file():
            raise TruthError(f"there is no truth of {day}: {path} is not there")
        table = pq.read_table(path)
        columns = {
            known.hardware_type: name
            for name in table.column_names
            if name not in ("attempt_id", "hardware_type") and (known := catalogue.find(name))
        }
        if types is None:
            types = tuple(columns)
            values = np.full((len(ids), len(types)), np.nan)
        elif types != tuple(columns):
            raise TruthError(f"{path} has other hardware types than the days before it")
        at = np.array([places.get(name, -1) for name in table["attempt_id"].to_pylist()], np.int64)
        wanted = at >= 0
        for column, name in enumerate(columns.values()):
            numbers = table[name].to_numpy(zero_copy_only=False)
            values[at[wanted], column] = numbers[wanted]
        found[at[wanted]] = True
    if not found.all():
        raise TruthError(f"the truth lacks attempt {ids[int(np.argmin(found))]}")
    return Truth(types or (), values)
