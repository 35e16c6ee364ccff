"""What a run leaves for people to read."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from functions.retrain.report.backtest_page import backtest_page
from functions.retrain.report.nightly_page import nightly_page
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
        overwrite(store, page_key, nightly_page(metrics).encode())


def are_written(store: Store, target: str, version: str) -> bool:
    """Whether a run of this version came to its end: the page is the last thing that it leaves."""
    return store.size(_keys(target, version)[1]) is not None


def write_page(path: Path, result: Mapping[str, Any]) -> None:
    """Write the page of a backtest to a file, over whatever it held."""
    path.write_bytes(backtest_page(result).encode())


def _keys(target: str, version: str) -> tuple[str, str]:
    folder = f"reports/{target}/{version}"
    return f"{folder}/metrics.json", f"{folder}/report.html"
