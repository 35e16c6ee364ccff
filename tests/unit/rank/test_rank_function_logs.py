"""Job names carry people's names: no line of the log has one, and none can be forged."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from functions.rank.telemetry import SERVICE, logger
from leap_model import Ranker
from tests.unit.rank.calls import Context, asked, handler, posted
from tests.unit.ranking.hand_made import job

FORGED = 'asmith@example.com-ctr\n{"level":"ERROR"}'


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[io.StringIO]:
    """Everything that Lambda would write: the function's own log, and that of libraries."""
    written = io.StringIO()
    own = logging.StreamHandler(written)
    own.setFormatter(logger.registered_formatter)
    others = logging.StreamHandler(written)
    others.setFormatter(logging.Formatter("[%(levelname)s]\t%(message)s"))
    # As Powertools has it in Lambda, where its own lines are not printed twice.
    others.addFilter(lambda record: record.name != SERVICE)
    places = {own: logging.getLogger(SERVICE), others: logging.getLogger()}
    for handler_, place in places.items():
        place.addHandler(handler_)
    caplog.set_level(logging.INFO)
    yield written
    for handler_, place in places.items():
        place.removeHandler(handler_)


def _named() -> dict[str, Any]:
    named = job(job_name=FORGED, job_family=FORGED, config={"owner": FORGED, FORGED: 1})
    return asked(["a", FORGED, {"hardware_type": "b", "id": FORGED}], job=named)


CALLS = [
    posted(_named()),
    posted(_named(), f"/{FORGED}"),
    posted(_named(), "/rank", FORGED),
    posted(f"{{{FORGED}"),
    posted({**_named(), "launched_at": FORGED}),
    posted({**_named(), "job": job(job_name=FORGED * 100)}),
    posted({**_named(), "job": FORGED}),
    posted({"job": FORGED}, headers={"user-agent": FORGED}),
    {"requestContext": {"http": {"method": FORGED}}, "rawPath": FORGED},
    _named(),
    {**_named(), "job": FORGED},
    FORGED,
]


def _check(printed: str, log: io.StringIO) -> None:
    for text in (printed, log.getvalue()):
        assert "asmith" not in text
        assert not [line for line in text.splitlines() if line.startswith('{"level":"ERROR"}')]


@pytest.mark.parametrize("call", CALLS)
def test_no_call_puts_a_job_into_the_log(
    call: Any, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    handler()(call, Context())
    _check(capsys.readouterr().out, log)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("where", ["rank", "make", "send"])
def test_no_fault_puts_a_job_into_the_log(
    call: Any,
    where: str,
    log: io.StringIO,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError(f"cannot do {FORGED}")

    if where == "rank":
        monkeypatch.setattr(Ranker, "rank", fail)
    handle = handler(fail) if where == "make" else handler(send=fail, share=1.0)
    handle(call, Context())
    _check(capsys.readouterr().out, log)


def test_a_fault_is_logged_by_its_type(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError(FORGED)

    monkeypatch.setattr(Ranker, "rank", fail)
    handler()(posted(_named()), Context())
    (line,) = log.getvalue().splitlines()
    written = json.loads(line)
    assert (written["level"], written["message"]) == ("ERROR", "ranking failed: ValueError")
    assert written["service"] == "rank"


def test_a_ranking_logs_nothing_beside_its_metrics(log: io.StringIO) -> None:
    handler()(posted(asked()), Context())
    assert log.getvalue() == ""


def test_a_debugging_environment_does_not_print_events(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], log: io.StringIO
) -> None:
    monkeypatch.setenv("POWERTOOLS_DEV", "true")
    handler()(posted(_named()), Context())
    _check(capsys.readouterr().out, log)
