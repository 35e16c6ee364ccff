"""What the function is told is checked once, and a bad value is one clear sentence."""

import re

import pytest

from functions.ingest.environment import Environment
from leap_model.errors import FieldError


@pytest.mark.parametrize(
    "uri", ["s3://fleet", "s3://fleet/", "s3://a.b-c.1/x/y=z", "s3://fleet/leap/prod/"]
)
def test_a_bucket_with_or_without_a_prefix_is_a_store(uri: str) -> None:
    assert Environment.of({"LEAP_STORE": uri, "LEAP_STAGE": "prod"}) == Environment(uri, "prod")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        " ",
        "fleet",
        "/srv/store",
        "http://fleet",
        "s3://",
        "s3://F",
        "s3://fleet//x",
        "s3://f/a b",
    ],
)
def test_what_is_no_bucket_is_one_sentence_that_names_the_variable(uri: str) -> None:
    with pytest.raises(FieldError, match=r"^LEAP_STORE is .*; it must be [^\n]*$"):
        Environment.of({"LEAP_STORE": uri, "LEAP_STAGE": "prod"})


def test_a_store_that_is_not_named_is_one_sentence() -> None:
    sentence = "LEAP_STORE is missing; it must be s3://BUCKET or s3://BUCKET/PREFIX"
    with pytest.raises(FieldError, match=f"^{re.escape(sentence)}$"):
        Environment.of({"LEAP_STAGE": "prod"})


def test_a_stage_that_is_not_named_is_one_sentence() -> None:
    with pytest.raises(FieldError, match=r"^LEAP_STAGE is missing; it must be [^\n]*$"):
        Environment.of({"LEAP_STORE": "s3://fleet"})


@pytest.mark.parametrize("stage", ["", "a/b", "-a", "x" * 65, "prod\n{}"])
def test_a_stage_that_is_no_name_is_one_sentence(stage: str) -> None:
    with pytest.raises(FieldError, match=r"^LEAP_STAGE is .*; it must be [^\n]*$"):
        Environment.of({"LEAP_STORE": "s3://fleet", "LEAP_STAGE": stage})
