"""What a run leaves for people to read."""

import json
from collections.abc import Mapping
from typing import Any

from leap_model.store import Store, etag_of


def metrics_key(target: str, version: str) -> str:
    """Where a version's metrics lie."""
    return f"reports/{target}/{version}/metrics.json"


def write_metrics(store: Store, target: str, version: str, metrics: Mapping[str, Any]) -> None:
    """Keep a run's metrics; a later run of the same version replaces them."""
    key = metrics_key(target, version)
    current = store.read(key)
    content = (json.dumps(metrics, indent=2, allow_nan=False) + "\n").encode()
    store.replace(key, content, etag_of(current) if current is not None else None)
