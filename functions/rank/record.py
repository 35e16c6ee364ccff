"""What is recorded of a ranking, as the detail of an event."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leap_model.ranking import FeatureRows
from leap_model.times import format_time


@dataclass(frozen=True, slots=True)
class Record:
    """A ranking that was served. `served_at` is microseconds since 1970-01-01 UTC."""

    served_at: int
    request: Mapping[str, Any]
    answer: Mapping[str, Any]
    features: FeatureRows | None

    def to_json(self) -> str:
        """The detail of its event, in strict JSON.

        Raises
        ------
        TypeError, ValueError
            The request holds what JSON cannot.
        """
        detail = {
            "ranking_id": self.answer["ranking_id"],
            "served_at": format_time(self.served_at),
            "model_version": self.answer["model_version"],
            "request": self.request,
            "answer": self.answer,
            "features": None if self.features is None else _shown(self.features),
        }
        return json.dumps(detail, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def is_sampled(ranking_id: str, share: float) -> bool:
    """Whether a ranking is among the share that is recorded: always the same answer."""
    digest = hashlib.sha256(f"sample:{ranking_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def _shown(features: FeatureRows) -> dict[str, Any]:
    values = features.matrix.astype(object)
    # NaN, a missing value, is null: strict JSON has no other word for it.
    values[~np.isfinite(features.matrix)] = None
    return {"columns": features.columns, "ids": features.ids, "rows": values.tolist()}
