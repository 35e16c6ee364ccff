"""python -m functions.retrain: the nightly run, told by its environment. The same everywhere."""

import json
import logging
import os
import signal
import sys
import traceback
from types import FrameType

from functions.retrain.deployed import run
from functions.retrain.environment import Environment
from functions.retrain.telemetry import emit
from leap_model.errors import LeapError
from leap_model.merging import merge
from leap_model.parameters import Parameters
from leap_model.s3 import S3Store


def main() -> int:
    """0 when the night is done, 1 where it cannot be, with one line that says why."""
    signal.signal(signal.SIGTERM, _stop)
    logging.getLogger().addHandler(_LINES)  # once, however often
    try:
        environment = Environment.of(os.environ)
        store = S3Store.of_uri(environment.store_uri)
        done = run(environment, store, Parameters(), watch=lambda stage: _say(stage=stage))
    except LeapError as fault:
        _say(error=str(fault))
        return 1
    except Exception as fault:
        # Not its text, which may quote a sender, and whose lines would be lines of the log.
        _say(error=type(fault).__name__, at="".join(traceback.format_tb(fault.__traceback__)))
        return 1
    for metrics in done:
        emit(environment.stage, metrics)
    if not done:
        _say(done=f"the stage {environment.stage} points at {environment.as_of} already")
    _merge(store, environment)
    return 0


def _merge(store: S3Store, environment: Environment) -> None:
    """The night is done: what fails here costs it nothing, and the next one goes on."""
    if environment.test_run:
        return
    try:
        merged = merge(store, environment.as_of)
    except LeapError as fault:
        _say(warning=f"small files are left as they are: {fault}")
        return
    if merged.days:
        _say(merged=f"{merged.files:,} files of {merged.days:,} days into {merged.into:,}")


def _stop(number: int, frame: FrameType | None) -> None:
    # As an exception, so that temporary files and processes end with the run. A version without
    # a manifest is none, and the pointer moves last: whenever it comes, nothing half is served.
    sys.exit(128 + number)


class _Lines(logging.Handler):
    """What any part of a run warns of, as a line of its log like the others."""

    def emit(self, record: logging.LogRecord) -> None:
        _say(warning=record.getMessage())


_LINES = _Lines(logging.WARNING)


def _say(**words: str) -> None:
    print(json.dumps({"service": "retrain", **words}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
