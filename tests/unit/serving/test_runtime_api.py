"""The runtime API that cold starts are measured with: events out, answers and errors back."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.runtime_api import (
    FunctionError,
    RuntimeApi,
    function,
    processor_seconds,
    resident_mb,
    runtime_api,
)

RUNTIME = '''
"""In the place of AWS's own client: answers an event with itself and its variables."""
import json, os, sys, urllib.request

base = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"
while True:
    with urllib.request.urlopen(f"{base}/next") as asked:
        identity = asked.headers["Lambda-Runtime-Aws-Request-Id"]
        event = json.load(asked)
    told = {"event": event, "handler": sys.argv[1], "variables": dict(os.environ)}
    kind, body = ("error", {"said": "no"}) if event == "fail" else ("response", told)
    urllib.request.urlopen(f"{base}/{identity}/{kind}", data=json.dumps(body).encode()).close()
'''


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of whoever measures")


@pytest.fixture
def api(tmp_path: Path) -> Iterator[RuntimeApi]:
    """An API that a function of the runtime above asks."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "awslambdaric.py").write_text(RUNTIME)
    with (
        runtime_api() as api,
        function(
            api, "module.handle", [code], {"LEAP_STAGE": "s"}, tmp_path, tmp_path / "log"
        ) as process,
    ):
        yield api
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert processor_seconds(process.pid) > 0
        assert resident_mb(process.pid) > 1
    assert process.poll() is not None


def test_events_are_answered_in_turn(api: RuntimeApi) -> None:
    answers = [api.invoke({"number": number}) for number in range(3)]
    assert [answer["event"]["number"] for answer, _ in answers] == [0, 1, 2]
    moments = [at for _, at in answers]
    assert moments == sorted(moments)


def test_a_function_has_lambda_s_variables_and_its_own_and_no_others(api: RuntimeApi) -> None:
    answer, _ = api.invoke({})
    assert answer["handler"] == "module.handle"
    variables = answer["variables"]
    assert variables["LEAP_STAGE"] == "s"
    assert variables["AWS_LAMBDA_RUNTIME_API"] == api.address
    assert "AWS_SECRET_ACCESS_KEY" not in variables


def test_an_error_that_it_reports_is_raised_with_what_it_said(api: RuntimeApi) -> None:
    with pytest.raises(FunctionError, match="no"):
        api.invoke("fail")
    assert api.invoke({"number": 1})[0]["event"] == {"number": 1}


def test_anything_else_is_not_found() -> None:
    with runtime_api() as api, pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://{api.address}/2018-06-01/runtime/other")


def test_a_function_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.runtime_api._PATIENCE_S", 0.05)
    with pytest.raises(FunctionError, match="no answer within"):
        RuntimeApi().invoke({})
