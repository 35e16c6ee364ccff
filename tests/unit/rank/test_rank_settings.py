"""The environment of the rank function: defaults, and one clear sentence for what is wrong."""

import pytest

from functions.rank.settings import Settings
from leap_model.errors import FieldError

LEAST = {"LEAP_STORE": "s3://leap-data", "LEAP_STAGE": "prod"}


def test_store_and_stage_are_enough() -> None:
    assert Settings.of(LEAST) == Settings("s3://leap-data", "prod", 60.0, "", 0.05)


def test_every_variable_is_read_and_others_are_not_minded() -> None:
    settings = Settings.of(
        {
            "LEAP_STORE": "s3://leap-data/some/prefix",
            "LEAP_STAGE": "team.a_test-2",
            "LEAP_CACHE_S": "1.5",
            "LEAP_BUS": "leap-prod",
            "LEAP_SAMPLE": "1",
            "LEAP_OTHER": "x",
        }
    )
    expected = ("s3://leap-data/some/prefix", "team.a_test-2", 1.5, "leap-prod", 1.0)
    assert settings == Settings(*expected)


def test_an_empty_number_is_the_default() -> None:
    settings = Settings.of({**LEAST, "LEAP_CACHE_S": "", "LEAP_SAMPLE": ""})
    assert (settings.cache_s, settings.sample) == (60.0, 0.05)


@pytest.mark.parametrize("name", ["LEAP_STORE", "LEAP_STAGE"])
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(FieldError, match=f"^{name} is missing; it must be "):
        Settings.of({known: value for known, value in LEAST.items() if known != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("LEAP_STORE", text)
            for text in ("", "bucket", "s3://", "s3:///x", "/data", "https://x")
        ),
        *(("LEAP_STAGE", text) for text in ("", "../prod", "a/b", "a b", ".", "x" * 65)),
        *(("LEAP_CACHE_S", text) for text in ("-1", "nan", "inf", "soon", "1,5")),
        *(("LEAP_SAMPLE", text) for text in ("-0.1", "1.01", "nan", "5%", "all")),
    ],
)
def test_a_value_that_breaks_its_rule_is_named_with_the_rule(name: str, value: str) -> None:
    with pytest.raises(FieldError, match=f"^{name} is .*; it must be ") as caught:
        Settings.of({**LEAST, name: value})
    assert "\n" not in str(caught.value)
