"""What an invocation prints for CloudWatch: one line, in the embedded metric format."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

import functions.rank.telemetry
from functions.rank.telemetry import model_age_hours
from leap_model import Ranker
from leap_model.errors import ModelUnavailableError, StoreError
from leap_model.source import Serving, StageSource, Versioned
from leap_model.switches import EVERYONE, NOBODY
from leap_model.times import parse_time
from tests.unit.rank.calls import TYPES, Context, asked, handler, posted
from tests.unit.ranking.hand_made import hand_made


class _Source:
    """A source that serves what a test puts there, or fails."""

    def __init__(self, serving: Serving) -> None:
        self.failures = 0
        self.serving: Serving | None = serving

    def current(self) -> Serving:
        if self.serving is None:
            raise ModelUnavailableError("gone")
        return self.serving


@pytest.fixture
def source() -> _Source:
    return _Source(Serving(Versioned("v1", hand_made(TYPES, as_of="2026-01-12")), None, EVERYONE))


@pytest.fixture
def ranker(source: _Source) -> Ranker:
    return Ranker(cast(StageSource, source))


def _printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]


def _metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, list[float]]:
    """Name and values of the one line's metrics."""
    (line,) = _printed(capsys)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "LEAP"
    assert [sorted(names) for names in directive["Dimensions"]] == [["service", "stage"]]
    assert (line["service"], line["stage"]) == ("rank", "test")
    return {metric["Name"]: line[metric["Name"]] for metric in directive["Metrics"]}


def test_a_ranking_is_counted_with_the_age_of_its_model(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = parse_time("2026-01-13T12:30:00Z")
    monkeypatch.setattr(functions.rank.telemetry, "now_us", lambda: now)
    handler(ranker)(posted(asked()), Context())
    assert _metrics(capsys) == {
        "Rankings": [1.0],
        "EmptyPreferences": [0.0],
        "RankingErrors": [0.0],
        "ModelAgeHours": [36.5],
    }


def test_a_line_says_which_ranking_it_was(
    ranker: Ranker, capsys: pytest.CaptureFixture[str]
) -> None:
    response = handler(ranker)(posted(asked()), Context())
    (line,) = _printed(capsys)
    assert line["ranking_id"] == json.loads(response["body"])["ranking_id"]
    assert (line["model_version"], line["reason"]) == ("v1", None)


@pytest.mark.parametrize("body", [asked([]), asked(["moon"]), {"job": 5}, "{", "null"])
def test_an_empty_preference_is_counted(
    ranker: Ranker, body: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    handler(ranker)(posted(body), Context())
    metrics = _metrics(capsys)
    assert (metrics["Rankings"], metrics["EmptyPreferences"]) == ([1.0], [1.0])
    assert metrics["RankingErrors"] == [0.0]


def test_an_internal_error_is_counted(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Ranker, "rank", lambda *_, **__: 1 / 0)
    handler(ranker)(posted(asked()), Context())
    assert _metrics(capsys) == {
        "Rankings": [1.0],
        "EmptyPreferences": [1.0],
        "RankingErrors": [1.0],
    }


def test_a_job_that_is_switched_off_is_no_empty_ranking_but_tells_the_model_s_age(
    source: _Source, ranker: Ranker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source.serving is not None
    source.serving = replace(source.serving, switches=NOBODY)
    handler(ranker)(posted(asked()), Context())
    metrics = _metrics(capsys)
    assert metrics.keys() == {"SwitchedOff", "ModelAgeHours"}
    assert metrics["SwitchedOff"] == [1.0]


@pytest.mark.parametrize(("path", "method"), [("/x", "POST"), ("/rank", "GET")])
def test_what_is_not_for_the_function_is_not_counted(
    ranker: Ranker, path: str, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    handler(ranker)(posted(asked(), path, method), Context())
    assert _printed(capsys) == []


def test_an_invocation_without_http_is_counted(
    ranker: Ranker, capsys: pytest.CaptureFixture[str]
) -> None:
    handler(ranker)(asked(), Context())
    assert _metrics(capsys)["Rankings"] == [1.0]


def test_failed_loads_are_counted_once_each(
    source: _Source, ranker: Ranker, capsys: pytest.CaptureFixture[str]
) -> None:
    handle = handler(ranker)
    source.failures = 2
    handle(asked(), None)
    assert _metrics(capsys)["ModelLoadFailures"] == [2.0]
    handle(asked(), None)
    assert "ModelLoadFailures" not in _metrics(capsys)
    source.failures = 3
    source.serving = None
    handle(asked(), None)
    metrics = _metrics(capsys)
    assert (metrics["ModelLoadFailures"], metrics["EmptyPreferences"]) == ([1.0], [1.0])
    assert "ModelAgeHours" not in metrics  # no model answered


def test_a_ranker_that_cannot_be_made_is_a_failed_load(capsys: pytest.CaptureFixture[str]) -> None:
    def make() -> Ranker:
        raise StoreError("x")

    handle = handler(make)
    handle(asked(), None)
    assert _metrics(capsys)["ModelLoadFailures"] == [1.0]
    handle(asked(), None)
    assert "ModelLoadFailures" not in _metrics(capsys)


@pytest.mark.parametrize("as_of", [None, "soon", 5])
def test_a_model_without_a_date_has_no_age(as_of: Any) -> None:
    artifact = hand_made(TYPES, as_of=as_of)
    assert model_age_hours(Serving(Versioned("v1", artifact), None, EVERYONE)) is None


def test_a_model_of_today_is_less_than_a_day_old() -> None:
    today = datetime.now(UTC).date()
    for day, least in ((today, 0.0), (today - timedelta(days=1), 24.0)):
        artifact = hand_made(TYPES, as_of=day.isoformat())
        age = model_age_hours(Serving(Versioned("v1", artifact), None, EVERYONE))
        assert age is not None
        assert least <= age <= least + 48.0
