"""Columns of some sources only: the job, its history, ratios, architecture."""

from collections.abc import Collection
from dataclasses import replace

from leap_model.catalogue import Catalogue
from leap_model.columns import Jobs, Objects
from leap_model.features import raw_columns
from leap_model.features.raw import Raw
from leap_model.history import History


def columns_without(
    sources: Collection[str], jobs: Jobs, history: History, catalogue: Catalogue
) -> Raw:
    """Every column but those of some sources: the part of a name before its first dot.

    Without `architecture` the ratios that need it are missing as well.
    """
    if "architecture" in sources:
        jobs = replace(jobs, architecture=Objects(len(jobs), {}))
    raw = raw_columns(jobs, history, catalogue)
    return {name: values for name, values in raw.items() if name.partition(".")[0] not in sources}
