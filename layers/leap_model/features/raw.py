"""Every column that could be a feature, by name, before training decides which are.

The part of a name before its first dot says where the value comes from: `job`, `config`,
`config_text`, `allocation`, `allocation_text`, `architecture`, `hardware`, `history`, `ratio`.
"""

from collections.abc import Iterator
from typing import TypeAlias

from leap_model.catalogue import Catalogue
from leap_model.columns import Jobs, Labels, Number, Objects
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import ratio_columns
from leap_model.history import History

FEATURES_VERSION = 4
"""Goes up whenever a column of some name gets another meaning, or a scale is added, without which
all types would be answered as one; artifacts name theirs."""

Raw: TypeAlias = dict[str, Number | Labels | str]
"""By name, a number or text of each row, or one that all rows share."""


def raw_columns(jobs: Jobs, history: History, catalogue: Catalogue) -> Raw:
    """Number columns (n,) float64 with NaN for missing, and text columns, by name; one number or
    text where all rows share it, as they do a history of one row."""
    hardware = Hardware(jobs, catalogue)
    columns: Raw = {
        "job.num_trainers": jobs.num_trainers,
        "job.batch_size": jobs.batch_size,
        "job.model_type": jobs.model_type,
        "hardware.hardware_type": jobs.hardware_type,
        "hardware.vendor": hardware.vendor(),
    }
    columns.update(hardware.specifications())
    columns.update(_open("config", jobs.config))
    columns.update(_open("allocation", jobs.allocation))
    columns.update(_open("architecture", jobs.architecture))
    columns.update(_history(history, jobs))
    columns.update(ratio_columns(jobs, hardware))
    return columns


def _open(prefix: str, objects: Objects) -> Iterator[tuple[str, Number | Labels | str]]:
    for name, numbers, texts in objects.columns():
        if numbers is not None:
            yield f"{prefix}.{name}", numbers
        if texts is not None:
            yield f"{prefix}_text.{name}", texts


def _history(history: History, jobs: Jobs) -> Raw:
    values = {
        "history.last": history.last,
        "history.mean": history.mean,
        "history.std": history.std,
        "history.runs": history.runs,
    }
    columns: Raw = {**values}
    if len(history.runs) == 1:
        columns = {name: value.item() for name, value in values.items()}
    columns["history.days_since_last"] = history.days_since(jobs.launched_at)
    return columns
