"""The function URL: who may ask, and what the function is told."""

import json
import re
from pathlib import Path

from tests.infrastructure.templates import Template

ROOT = Path(__file__).parents[2]


def test_the_url_takes_signed_requests_only(template: Template) -> None:
    url = template.plain(template.properties("AWS::Lambda::Url"))
    assert url == {"AuthType": "AWS_IAM", "TargetFunctionArn": "<RankFunction.Arn>"}


def test_both_permissions_that_a_url_asks_for_are_this_accounts(template: Template) -> None:
    found = [template.plain(r["Properties"]) for r in _permissions(template)]
    assert sorted(found, key=lambda permission: permission["Action"]) == [
        {
            "Action": "lambda:InvokeFunction",
            "FunctionName": "<RankFunction.Arn>",
            "InvokedViaFunctionUrl": True,
            "Principal": "<AWS::AccountId>",
        },
        {
            "Action": "lambda:InvokeFunctionUrl",
            "FunctionName": "<RankFunction.Arn>",
            "FunctionUrlAuthType": "AWS_IAM",
            "Principal": "<AWS::AccountId>",
        },
    ]


def _permissions(template: Template) -> list[dict[str, dict[str, object]]]:
    return list(template.resources("AWS::Lambda::Permission").values())


def test_a_launcher_may_publish_and_ask_and_nothing_else(template: Template) -> None:
    assert template.statements("LaunchersSending") == [
        {"Action": "events:PutEvents", "Effect": "Allow", "Resource": "<IngestBus.Arn>"},
        {
            "Action": "lambda:InvokeFunctionUrl",
            "Condition": {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}},
            "Effect": "Allow",
            "Resource": "<RankFunction.Arn>",
        },
        {
            "Action": "lambda:InvokeFunction",
            "Condition": {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}},
            "Effect": "Allow",
            "Resource": "<RankFunction.Arn>",
        },
    ]


def test_cross_origin_requests_are_allowed_nowhere(template: Template) -> None:
    assert "cors" not in json.dumps(template.body["Resources"]).lower()
    for path in (ROOT / "functions" / "rank").rglob("*.py"):
        code = path.read_text()
        assert not re.search(r"access-control-|CORSConfig|cors=", code, re.IGNORECASE), path


def test_the_function_is_what_the_handler_expects(template: Template) -> None:
    function = template.plain(template.properties("AWS::Lambda::Function", "Rank"))
    assert function["FunctionName"] == f"leap-{template.stage}-rank"
    assert function["Handler"] == "functions.rank.handler.handler"
    assert function["Runtime"] == "python3.13"
    assert function["Architectures"] == ["arm64"]
    assert function["MemorySize"] >= 1769
    variables = function["Environment"]["Variables"]
    assert {name: variables[name] for name in variables if name.startswith("LEAP_")} == {
        "LEAP_STORE": "s3://<StoreBucket>",
        "LEAP_STAGE": template.stage,
        "LEAP_CACHE_S": "60",
        "LEAP_BUS": "<IngestBus>",
        "LEAP_SAMPLE": "0.05",
    }


def test_nothing_about_the_model_is_known_to_the_template(template: Template) -> None:
    function = template.properties("AWS::Lambda::Function", "Rank")
    assert not re.search(r"models/|pointer|version", json.dumps(function["Environment"]))
