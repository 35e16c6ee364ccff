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
    content = (json.dumps(metrics, indent=2, allow_nan=False) + "\n").encode()
    with suppress(ConflictError):
        overwrite(store, f"reports/{target}/{version}/metrics.json", content)
        overwrite(store, f"reports/{target}/{version}/report.html", render_report(metrics).encode())
