"""Cells and jobs in a few words each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from leap_model.columns import Labels
from leap_model.history import Hashes, family_hashes
from leap_model.limits import DAY_US
from leap_model.references import Asked, Cells, Known, Recall, References

HARDWARE = ("fast-8", "mid-8", "slow-4")
NOW = 100 * DAY_US
"""When jobs are launched unless told."""
PLAIN = Recall(
    shrink=1.0, elsewhere=0.25, strangers=0.1, distance=2.0, days=30.0, own=0.5, most=10.0
)
"""Constants that are easy to calculate with."""


def hashed(*names: str) -> Hashes:
    """What stands for some names."""
    return family_hashes(Labels.of(names))


def cell(key: str, rest: float, **values: Any) -> dict[str, Any]:
    """A cell of one attempt on fast-8, completed now, of size (8 accelerators, 512 samples)."""
    return {"key": key, "rest": rest, **values}


def cells_of(*rows: dict[str, Any]) -> Cells:
    """Cells in the order of their keys."""
    keys = hashed(*(row["key"] for row in rows)) if rows else np.zeros(0, np.uint64)
    order = np.argsort(keys, kind="stable")
    ordered = [rows[at] for at in order]

    def column(name: str, default: float, dtype: Any) -> Any:
        return np.array([row.get(name, default) for row in ordered], dtype)

    places = [HARDWARE.index(row.get("on", "fast-8")) for row in ordered]
    return Cells(
        key=keys[order],
        hardware=np.array(places, np.int32),
        size=np.array([size_of(row) for row in ordered], np.float32).reshape(-1, 2),
        rest=column("rest", 0.0, np.float32),
        level=column("level", 0.0, np.float32),
        votes=column("votes", 1.0, np.float32),
        last=column("last", NOW, np.int64),
    )


def size_of(row: dict[str, Any]) -> tuple[float, float]:
    """Natural logs of accelerators and of samples a step, off the plain size by `far` each."""
    far = row.get("far", 0.0)
    return np.log(8) + far, np.log(512) + row.get("far_samples", 0.0)


def asked_for(*rows: dict[str, Any]) -> Asked:
    """Jobs of a family `mine` and a model type `type` on fast-8 unless told."""
    return Asked(
        family=hashed(*(row.get("family", "mine") for row in rows)),
        model_type=hashed(*(row.get("model_type", "type") for row in rows)),
        hardware=np.array(
            [HARDWARE.index(on) if (on := row.get("on", "fast-8")) else -1 for row in rows],
            np.int32,
        ),
        size=np.array([size_of(row) for row in rows], np.float32).reshape(-1, 2),
        at=np.array([row.get("at", NOW) for row in rows], np.int64),
    )


def known_of(
    families: Sequence[dict[str, Any]] = (),
    model_types: Sequence[dict[str, Any]] = (),
    recall: Recall = PLAIN,
    *jobs: dict[str, Any],
) -> Known:
    """What such cells say of jobs, of the plain one unless told."""
    references = References(cells_of(*families), cells_of(*model_types), HARDWARE, recall)
    return references.recalled(asked_for(*(jobs or ({},))))


def rest_of(*arguments: Any) -> float:
    """The correction of the only job."""
    (rest,) = known_of(*arguments).rest
    return float(rest)
