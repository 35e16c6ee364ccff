"""What a run leaves for people to read."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from leap_model.errors import ConflictError
from leap_model.store import Store, overwrite


def metrics_key(target: str, version: str) -> str:
    """Where a version's metrics lie."""
    return f"reports/{target}/{version}/metrics.json"


def write_metrics(store: Store, target: str, version: str, metrics: Mapping[str, Any]) -> None:
    """Keep a run's metrics; a later run of the same version replaces them.

    Of two runs of one version that end at the same moment either's metrics will do.
    """
    content = (json.dumps(metrics, indent=2, allow_nan=False) + "\n").encode()
    with suppress(ConflictError):
        overwrite(store, metrics_key(target, version), content)
