"""Ranker never raises, and what it logs tells nothing of the job."""

import logging
from typing import Any

import pytest

import leap_model.ranking
from leap_model import Ranker
from leap_model.errors import LeapError
from leap_model.store import LocalStore
from tests.support import checked, request

FORGED = 'asmith@example.com-ctr\n{"level":"ERROR","msg":"forged"}'


def _failing(fault: BaseException) -> Any:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise fault

    return fail


@pytest.mark.parametrize(
    "fault",
    [
        *(ValueError("x"), KeyError("x"), IndexError("x"), FloatingPointError("x")),
        *(MemoryError(), RecursionError(), OSError("x"), AssertionError(), LeapError("x")),
        *(StopIteration(), UnicodeDecodeError("utf-8", b"x", 0, 1, "x")),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_model_that_fails_is_an_internal_error(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(leap_model.ranking, "predict", _failing(fault))
    answer = checked(ranker.rank(request()))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")
    monkeypatch.undo()
    assert checked(ranker.rank(request()))["reason"] is None


@pytest.mark.parametrize("part", ["underused", "predict", "family_hashes", "_entry"])
def test_no_part_that_fails_leaves_a_partial_list(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(leap_model.ranking, part, _failing(ValueError("x")))
    answer = checked(ranker.rank(request()))
    assert (answer["preference"], answer["reason"]) == ([], "internal_error")


def _forged() -> dict[str, Any]:
    asked = request()
    asked["job"]["job_name"] = FORGED
    asked["job"]["job_family"] = FORGED
    asked["job"]["config"]["owner"] = FORGED
    asked["candidates"] = ["fast-8", FORGED, {"hardware_type": "mid-8", "id": FORGED}]
    return asked


def _too_long() -> dict[str, Any]:
    asked = _forged()
    asked["job"]["job_name"] = FORGED * 100
    return asked


def _check_logs(caplog: pytest.LogCaptureFixture) -> None:
    formatter = logging.Formatter("%(levelname)s %(message)s")
    for record in caplog.records:
        line = formatter.format(record)
        assert "asmith" not in line
        assert "forged" not in line
        assert "\n" not in line


@pytest.mark.parametrize("asked", [_forged(), _too_long(), request(launched_at=FORGED)])
def test_logs_name_no_job_and_forge_no_record(
    ranker: Ranker, caplog: pytest.LogCaptureFixture, asked: dict[str, Any]
) -> None:
    caplog.set_level(logging.DEBUG)
    checked(ranker.rank(asked))
    _check_logs(caplog)


def test_a_failure_is_logged_by_its_type_only(
    ranker: Ranker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    fault = ValueError(f"cannot rank {FORGED}")
    monkeypatch.setattr(leap_model.ranking, "predict", _failing(fault))
    answer = checked(ranker.rank(_forged()))
    assert answer["reason"] == "internal_error"
    assert [record.getMessage() for record in caplog.records] == ["ranking failed: ValueError"]
    assert caplog.records[0].exc_info is None
    _check_logs(caplog)
    assert "asmith" not in str(answer.get("detail", ""))


def test_a_store_without_a_model_logs_no_job(
    store: LocalStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = checked(Ranker.from_store(store.root).rank(_forged()))
    assert answer["reason"] == "model_unavailable"
    assert caplog.records
    _check_logs(caplog)


def test_a_valid_ranking_logs_nothing_from_information_on(
    ranker: Ranker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    checked(ranker.rank(request()))
    assert caplog.records == []
