"""Served rankings: what one is, and how some become objects below rankings/."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leap_model import fields
from leap_model.errors import MISSING, FieldError
from leap_model.intake import Unstored, setting_aside
from leap_model.store import Store
from leap_model.times import day_of

SCHEMA = pa.schema(
    [
        pa.field("ranking_id", pa.string(), nullable=False),
        pa.field("served_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("model_version", pa.string()),
        pa.field("request", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("features", pa.string()),
    ]
)
"""Columns of every ranking file; request, answer and features are JSON text."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One served ranking. `served_at` is int64 microseconds UTC; features are null if unsampled."""

    ranking_id: str
    served_at: int
    model_version: str | None
    request: str
    answer: str
    features: str | None


def parse_ranking(detail: Mapping[str, Any], now: int) -> Ranking:
    """Check the detail of a "Ranking Served" event.

    Raises
    ------
    FieldError
        The first rule that it breaks.
    """
    version = detail.get("model_version")
    return Ranking(
        ranking_id=fields.text(detail.get("ranking_id", MISSING), "ranking_id"),
        served_at=fields.recent_time(detail.get("served_at", MISSING), "served_at", now),
        model_version=None if version is None else fields.text(version, "model_version"),
        request=_object(detail.get("request", MISSING), "request"),
        answer=_object(detail.get("answer", MISSING), "answer"),
        features=_features(detail.get("features")),
    )


def store_rankings(
    store: Store,
    rankings: Sequence[tuple[Ranking, str]],
    unstored: list[Unstored],
) -> int:
    """Append rankings to their days, one object a day, and count those that are new.

    A key is derived from the rankings, so that the same batch again writes nothing. A day that
    cannot be written is added to `unstored` with the origins of its rankings.
    """
    days: dict[date, dict[Ranking, list[str]]] = {}
    for ranking, origin in rankings:
        of_day = days.setdefault(day_of(ranking.served_at), {})
        of_day.setdefault(ranking, []).append(origin)
    new = 0
    for day, sources in sorted(days.items()):
        with setting_aside(unstored, chain.from_iterable(sources.values())):
            new += len(sources) if _write_day(store, day, list(sources)) else 0
    return new


def _write_day(store: Store, day: date, rankings: Sequence[Ranking]) -> bool:
    """Write one object; False where it is there already."""
    digests = {ranking: _digest(ranking) for ranking in rankings}
    ordered = sorted(rankings, key=lambda ranking: (ranking.ranking_id, digests[ranking]))
    name = hashlib.sha256("".join(digests[ranking] for ranking in ordered).encode()).hexdigest()
    columns = [
        pa.array([getattr(ranking, field.name) for ranking in ordered], field.type)
        for field in SCHEMA
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), sink, compression="zstd")
    key = f"rankings/dt={day.isoformat()}/{name[:32]}.parquet"
    return store.create(key, sink.getvalue().to_pybytes())


def _digest(ranking: Ranking) -> str:
    values = [getattr(ranking, field.name) for field in SCHEMA]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _object(value: Any, field: str) -> str:
    if not isinstance(value, Mapping):
        raise FieldError(field, value, "an object")
    return _text(value, field)


def _features(value: Any) -> str | None:
    if value is None:
        return None
    columns = value.get("columns") if isinstance(value, Mapping) else None
    rows = value.get("rows") if isinstance(value, Mapping) else None
    if (
        not isinstance(columns, list)
        or not isinstance(rows, list)
        or not all(isinstance(name, str) for name in columns)
        or not all(isinstance(row, list) and len(row) == len(columns) for row in rows)
    ):
        raise FieldError("features", value, "null, or columns and rows of one value a column")
    return _text(value, "features")


def _text(value: Mapping[str, Any], field: str) -> str:
    """Strict JSON, the same for the same value; what reads it does not know NaN."""
    try:
        return json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        raise FieldError(field, "…", "JSON with finite numbers") from None
