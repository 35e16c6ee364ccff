"""Jobs on hardware types that they did not run on, as a launcher would ask about them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leap_model.columns import Codes, Ints, Jobs, Labels, Objects, Open


def on_types(jobs: Jobs, types: Sequence[str], rows: Ints, columns: Ints) -> Jobs:
    """(m,) job `rows[c]` on the type `types[columns[c]]`, for each candidate c.

    Parameters
    ----------
    jobs : Jobs
        n jobs.
    types : sequence of str
        Hardware types by the catalogue's own names.
    rows, columns : (m,)
        Which job, and which type. A column of −1 leaves the job where it ran.
    """
    taken = jobs.take(rows)
    used = taken.hardware_type
    known = {name: code for code, name in enumerate(used.values)}
    for name in types:
        known.setdefault(name, len(known))
    places = np.array([*(known[name] for name in types), -1], np.int64)
    codes = np.where(columns >= 0, places[columns], used.codes).astype(np.int32)
    return _moved(taken, Labels(codes, tuple(known)))


def _moved(jobs: Jobs, types: Labels) -> Jobs:
    """The jobs on other types. What their launcher said of the type they ran on goes: the number
    of accelerators a host becomes the catalogue's, and where an allocation's text names the type
    it names the other one."""
    used = jobs.hardware_type
    elsewhere = types.codes != used.codes
    return replace(
        jobs,
        hardware_type=types,
        accelerators_per_host=np.where(elsewhere, np.nan, jobs.accelerators_per_host),
        allocation=Objects(
            jobs.allocation.rows,
            {
                name: Open(entry.numbers, _renamed(entry.labels, used, types))
                for name, entry in jobs.allocation.by_name.items()
            },
        ),
    )


def _renamed(texts: Labels, used: Labels, types: Labels) -> Labels:
    triples = np.stack([texts.codes, used.codes, types.codes])
    distinct, which = np.unique(triples, axis=1, return_inverse=True)
    renamed = Labels.of(
        _other_type(texts, int(text), used.values[before], types.values[after])
        for text, before, after in distinct.T
    )
    codes: Codes = renamed.codes[which.ravel()]
    return Labels(codes, renamed.values)


def _other_type(texts: Labels, code: int, before: str, after: str) -> str | None:
    return None if code < 0 else texts.values[code].replace(before, after)
