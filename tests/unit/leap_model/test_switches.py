"""Switches: which families are in, the same everywhere and for good."""

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.switches import EVERYONE, NOBODY, Switches, parse_switches

FAMILIES = [f"team/job-{at}" for at in range(2000)]


def draw_of(family: str) -> int:
    digest = hashlib.sha256(b"switch:" + family.encode()).digest()
    return int.from_bytes(digest[:8], "big") % 10_000


def family_with(draw: int) -> str:
    return next(name for name in (f"f{at}" for at in range(1_000_000)) if draw_of(name) == draw)


def parsed(document: Any) -> Switches:
    return parse_switches(json.dumps(document).encode())


def test_edges_take_in_all_or_none() -> None:
    for family in FAMILIES[:200]:
        assert Switches(100.0, {}).is_on("m", family)
        assert EVERYONE.is_on("m", family)
        assert not Switches(0.0, {}).is_on("m", family)
        assert not NOBODY.is_on("m", family)


@pytest.mark.parametrize(
    ("percent", "draw", "on"),
    [
        (0.01, 0, True),
        (0.01, 1, False),
        (50, 4999, True),
        (50, 5000, False),
        (99.99, 9998, True),
        (99.99, 9999, False),
        (100, 9999, True),
        (0, 0, False),
    ],
)
def test_a_family_is_in_when_its_draw_is_below_the_share(
    percent: float, draw: int, on: bool
) -> None:
    assert parsed({"default": {"percent": percent}}).is_on("m", family_with(draw)) is on


@given(st.text(max_size=30), st.floats(0, 100))
def test_the_draw_is_that_of_the_contract(family: str, percent: float) -> None:
    assert Switches(percent, {}).is_on("m", family) == (draw_of(family) < percent * 100)


@pytest.mark.parametrize("percent", [1, 10, 50, 90])
def test_about_the_share_is_in(percent: float) -> None:
    inside = sum(Switches(percent, {}).is_on("m", family) for family in FAMILIES)
    assert abs(inside / len(FAMILIES) - percent / 100) < 0.04


def test_growing_shares_keep_those_already_in() -> None:
    before: set[str] = set()
    for percent in (0, 0.5, 1, 10, 33.3, 50, 99.9, 100):
        inside = {family for family in FAMILIES if Switches(percent, {}).is_on("m", family)}
        assert before <= inside
        before = inside
    assert before == set(FAMILIES)


def test_the_answer_is_the_same_in_every_process() -> None:
    script = (
        "from leap_model.switches import Switches\n"
        "print([at for at in range(300) if Switches(50.0, {}).is_on('m', f'team/job-{at}')])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    here = [at for at in range(300) if Switches(50.0, {}).is_on("m", f"team/job-{at}")]
    assert outputs == {f"{here}\n"}


def test_a_model_type_has_its_own_share() -> None:
    switches = parsed(
        {
            "default": {"percent": 0},
            "model_types": {"bert": {"percent": 100}, "ctr": {"percent": 50}},
        }
    )
    inside = {
        name: sum(switches.is_on(name, family) for family in FAMILIES)
        for name in ("bert", "ctr", "resnet", "BERT")
    }
    assert inside["bert"] == len(FAMILIES)
    assert 800 < inside["ctr"] < 1200
    assert inside["resnet"] == inside["BERT"] == 0


@pytest.mark.parametrize(
    "document",
    [{}, {"model_types": {}}, {"default": {"percent": 0}}, {"default": {"percent": 0}, "more": 1}],
)
def test_without_a_default_nobody_is_in(document: dict[str, Any]) -> None:
    assert parsed(document) == NOBODY


@pytest.mark.parametrize("percent", ["50", True, None, -1, 100.01, [], {}, float("nan"), 10**400])
@pytest.mark.parametrize("place", ["default", "model type"])
def test_a_broken_share_ranks_nobody(percent: Any, place: str) -> None:
    broken, fine = {"percent": percent}, {"percent": 100}
    document = (
        {"default": broken, "model_types": {"bert": fine}}
        if place == "default"
        else {"default": fine, "model_types": {"ctr": fine, "bert": broken}}
    )
    switches = parsed(document)
    assert not any(switches.is_on(name, "f") for name in ("bert", "ctr", "else"))


@pytest.mark.parametrize(
    "content",
    [
        *(None, b"", b"{", b"null", b"[]", b"5", b'"x"', b"\xff", b"[" * 100_000),
        *(b'{"default": 50}', b'{"default": null}', b'{"default": {}}', b'{"default": []}'),
        *(
            b'{"default": {"percent": 100}, "model_types": ' + rest + b"}"
            for rest in (
                b"null",
                b"[]",
                b"5",
                b'{"bert": 50}',
                b'{"bert": {}}',
                b'{"": {"percent": 5}}',
            )
        ),
    ],
    ids=range(19),
)
def test_no_document_or_a_broken_one_ranks_nobody(content: bytes | None) -> None:
    assert parse_switches(content) == NOBODY
