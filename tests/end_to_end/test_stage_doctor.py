"""leap doctor over a deployed stage: nothing but what the emulator and the fleet's dates cause."""

from typing import Any

import boto3

from cli.local_aws.environment import acting_as
from leap_model.parameters import pointer_parameter
from tests.end_to_end.conftest import STAGE, Stage
from tests.unit.cli.commands import run, strict

Trained = tuple[Stage, list[str]]
DATED = "attempts"
"""The fleet's days are fixed, and lie in the past."""
EMULATED: set[str] = set()
"""Checks that this emulator answers otherwise than AWS."""


def _examined(*arguments: str) -> tuple[int, Any]:
    result = run("doctor", "--stage", STAGE, "--json", *arguments)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, strict(result.stdout)


def _checks(document: Any, kind: str) -> set[str]:
    return {entry["check"] for entry in document[kind]}


def test_a_sound_stage_has_no_problem_of_its_own(trained: Trained) -> None:
    stage, _ = trained
    code, document = _examined()
    assert _checks(document, "problems") - EMULATED == {DATED}, document["problems"]
    assert _checks(document, "unseen") - EMULATED == set(), document["unseen"]
    assert code == 1
    assert document["store"] == f"s3://{stage.outputs['BucketName']}"
    for check in ("pointer of throughput", "throughput model", "queue", "schedule", "clock"):
        assert check in document["checked"]


def test_planted_problems_are_found(trained: Trained) -> None:
    stage, _ = trained
    ssm, sqs = boto3.client("ssm"), boto3.client("sqs")
    name, letters = pointer_parameter(STAGE, "throughput"), stage.outputs["DeadLettersUrl"]
    pointer = ssm.get_parameter(Name=name)["Parameter"]["Value"]
    ssm.delete_parameter(Name=name)
    sqs.send_message(QueueUrl=letters, MessageBody="{}")
    try:
        _, document = _examined()
    finally:
        ssm.put_parameter(Name=name, Value=pointer, Type="String")
        sqs.purge_queue(QueueUrl=letters)
    found = _checks(document, "problems") - EMULATED
    assert found == {DATED, "pointer of throughput", "dead letters"}


def test_a_launcher_may_see_little_and_is_told_which_right_each_look_needs(
    trained: Trained,
) -> None:
    stage, _ = trained
    boto3.setup_default_session()
    try:
        with acting_as(stage.launcher.credentials):
            code, document = _examined()
    finally:
        boto3.setup_default_session()
    assert code in (1, 2)
    why = {entry["check"]: entry["why"] for entry in document["unseen"]}
    assert why["parameters"] == f"the caller lacks ssm:GetParameter on /leap/{STAGE}/store"
    assert why["schedule"].startswith("the caller lacks scheduler:GetSchedule on ")
