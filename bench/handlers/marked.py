"""The rank function's handler, which also says what its first answer spent time on.

The file that `LEAP_MARKS` names gets a JSON object of seconds a part. Parts that hold others are
given without them.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_parts: dict[str, float] = {}
_within: list[float] = []
"""Seconds that parts inside each open part took. Parts follow each other, whichever thread."""


@contextmanager
def _part(name: str) -> Iterator[None]:
    _within.append(0.0)
    started = time.monotonic()
    try:
        yield
    finally:
        spent = time.monotonic() - started
        _parts[name] = _parts.get(name, 0.0) + spent - _within.pop()
        if _within:
            _within[-1] += spent


def _timed(holder: Any, name: str, part: str) -> None:
    call: Callable[..., Any] = getattr(holder, name)

    def timed(*arguments: Any, **named: Any) -> Any:
        with _part(part):
            return call(*arguments, **named)

    setattr(holder, name, timed)


_parts["interpreter and awslambdaric"] = time.monotonic() - float(os.environ["LEAP_STARTED"])
with _part("import numpy"):
    import numpy  # noqa: F401 - timed
with _part("import aws_lambda_powertools"):
    import aws_lambda_powertools.metrics  # noqa: F401 - timed
with _part("import the function and leap_model"):
    import functions.rank.handler
    import leap_model.aws
    import leap_model.parameters
    import leap_model.ranker
    import leap_model.s3
    import leap_model.source

_timed(leap_model.aws, "session", "import botocore, and its session")
_timed(leap_model.aws, "client", "clients of AWS")
_timed(leap_model.source.StageSource, "_read_switches", "switches")
_timed(leap_model.parameters, "deployed_pointer", "pointers")
_timed(leap_model.s3.S3Store, "folder", "digests of what was fetched")
_timed(leap_model.s3.S3Store, "_download_all", "download of the files")
_timed(leap_model.s3.S3Store, "read", "manifest and switches, read")
_timed(leap_model.source, "load", "load of the artifact")
_timed(leap_model.ranker, "rank_with", "the ranking itself")


def handler(event: Any, context: Any) -> dict[str, Any]:
    """The rank function's answer."""
    with _part("the rest of the invocation"):
        answer = functions.rank.handler.handler(event, context)
    _parts["until the answer"] = time.monotonic() - float(os.environ["LEAP_STARTED"])
    Path(os.environ["LEAP_MARKS"]).write_text(json.dumps(_parts))
    return answer
