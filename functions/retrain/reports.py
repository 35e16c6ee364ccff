"""What a run leaves for people to read."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from functions.retrain.report_page import render_report
from leap_model.errors import ConflictError
from leap_model.store import Store, overwrite


def write_reports(store: Store, target: str, version: str, metrics: Mapping[str, Any]) -> None:
    """Keep a run's metrics, and the page of them; a later run of the same version replaces both.

    Of two runs of one version that end at the same moment either's metrics will do.
    """
    metrics_key, page_key = _keys(target, version)
    content = (json.dumps(metrics, indent=2, allow_nan=False) + "\n").encode()
    with suppress(ConflictError):
        overwrite(store, metrics_key, content)
        overwrite(store, page_key, render_report(metrics).encode())


def are_written(store: Store, target: str, version: str) -> bool:
    """Whether a run of this version came to its end: the page is the last thing that it leaves."""
    return store.size(_keys(target, version)[1]) is not None


def _keys(target: str, version: str) -> tuple[str, str]:
    folder = f"reports/{target}/{version}"
    return f"{folder}/metrics.json", f"{folder}/report.html"
