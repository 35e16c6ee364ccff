"""What the ingest function prints: figures, and never what a sender wrote."""

import json
from typing import Any

import pytest

from leap_model.errors import FieldError
from tests.integration.ingesting import Ingest, started
from tests.support import attempt
from tests.unit.ingest.deliveries import NOW, captured, delivery, envelope, ranking

SECRET = "asmith@example.com"
NAME = f'{SECRET}-ctr\n{{"level":"ERROR"}}'
FIELDS = [
    *("attempt_id", "job_name", "job_family", "model_type", "hardware_type", "num_trainers"),
    *("accelerators_per_host", "batch_size", "launched_at", "completed_at", "throughput"),
    *("config", "allocation", "architecture", "duration_s", "cost_usd", "utilization", "ranking"),
]


def _bodies() -> list[str]:
    """The name in every place that a record has, in good ones, bad ones, and what is none."""
    return [
        envelope(attempt(job_name=NAME, job_family=NAME, model_type=NAME)),
        *(envelope(attempt(**{field: NAME})) for field in FIELDS),
        *(envelope(attempt(**{field: {NAME: {"x": NAME}}})) for field in FIELDS),
        *(envelope(attempt(**{field: {NAME: NAME}})) for field in FIELDS),
        envelope(attempt(config={NAME: "x" * 5_000, NAME * 100: 1})),
        envelope(attempt(ranking={"preference": [NAME, {NAME: 1}]})),
        envelope(attempt(), NAME),
        envelope(attempt(), source=NAME),
        envelope(NAME),
        envelope(ranking(ranking_id=NAME, request={NAME: NAME}), "Ranking Served"),
        *(envelope(ranking(**{field: [NAME]}), "Ranking Served") for field in ranking()),
        *(NAME, json.dumps(NAME), json.dumps([NAME]), json.dumps({NAME: NAME}), f"{{{NAME}"),
    ]


def _is_clean(printed: str) -> None:
    assert SECRET not in printed
    assert '"ERROR"' not in printed
    assert "asmith" not in printed


def test_no_name_and_no_body_is_printed(ingest: Ingest) -> None:
    event = delivery((f"m{at}", body) for at, body in enumerate(_bodies()))
    assert ingest(event) == {"batchItemFailures": []}
    _is_clean(ingest.printed())
    assert len(ingest.lines()) == 2


def test_no_name_is_printed_where_nothing_can_be_stored(ingest: Ingest) -> None:
    ingest.lose_bucket()
    event = delivery((f"m{at}", body) for at, body in enumerate(_bodies()))
    assert len(ingest(event)["batchItemFailures"]) == len(_bodies())
    _is_clean(ingest.printed())
    assert {line.get("level") for line in ingest.lines()} == {"INFO", "WARNING", None}


@pytest.mark.parametrize(
    "fault", [KeyError(NAME), FieldError(NAME, NAME, "another"), OSError(NAME)]
)
def test_no_name_is_in_the_error_of_a_fault_of_ours(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def broken(*_: Any) -> None:
        raise fault

    monkeypatch.setattr(ingest.module, "take_batch", broken)
    with pytest.raises(ingest.module.IngestError) as said:
        ingest(delivery([("m1", envelope(attempt(job_name=NAME)))]))
    assert str(said.value) == f"{type(fault).__name__} while a batch was stored"
    assert said.value.__cause__ is None
    assert said.value.__suppress_context__
    _is_clean(ingest.printed())


def test_an_environment_that_wants_events_logged_does_not_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POWERTOOLS_LOGGER_LOG_EVENT", "true")
    with started(monkeypatch, capsys) as ingest:
        ingest(delivery([("m1", envelope(attempt(job_name=NAME)))]))
        assert len(ingest.lines()) == 2
        _is_clean(ingest.printed())


def test_what_no_queue_sent_is_refused_by_name(ingest: Ingest) -> None:
    for event in ({}, json.loads(envelope(attempt(job_name=NAME))), {"Records": [{"body": NAME}]}):
        with pytest.raises(Exception, match=r"Records|messageId") as refusal:
            ingest(event)
        _is_clean(str(refusal.value))


def test_a_batch_is_one_line_of_the_log(ingest: Ingest) -> None:
    ingest(captured("attempt_between_poison"))
    (line,) = [line for line in ingest.lines() if "level" in line]
    assert (line["level"], line["service"], line["message"]) == ("INFO", "ingest", "batch stored")
    assert (line["messages"], line["rankings"], line["failed"]) == (3, 0, 0)
    assert line["attempts"] == {
        "stored": 2,
        "duplicates": 0,
        "rejected": 1,
        "rejected_reasons": {"record must be one JSON object in UTF-8": 1},
        "dropped_values": 0,
    }


def test_figures_are_metrics_of_the_stage(ingest: Ingest) -> None:
    bodies = [
        envelope(attempt()),
        envelope(attempt()),
        "bad",
        envelope(ranking(), "Ranking Served"),
    ]
    event = delivery(((f"m{at}", body) for at, body in enumerate(bodies)), NOW - 7_500_000)
    for _ in range(2):
        ingest(event)
    first, second = (line for line in ingest.lines() if "_aws" in line)
    (directive,) = first["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "LEAP"
    assert sorted(map(sorted, directive["Dimensions"])) == [["service", "stage"]]
    assert (first["service"], first["stage"]) == ("ingest", "test")
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units == {
        "AttemptsStored": "Count",
        "AttemptsRejected": "Count",
        "AttemptsDuplicate": "Count",
        "RankingsStored": "Count",
        "IngestLagSeconds": "Seconds",
    }
    assert [first[name] for name in units] == [[1.0], [1.0], [1.0], [1.0], [7.5]]
    assert [second[name] for name in units] == [[0.0], [1.0], [2.0], [0.0], [7.5]]
