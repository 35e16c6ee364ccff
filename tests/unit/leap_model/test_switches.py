"""Switches: which families are in, the same everywhere and for good."""

import hashlib
import json
import os
import subprocess
import sys
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.switches import EVERYONE, NOBODY, Switches, parse_switches

FAMILIES = [f"team/job-{at}" for at in range(2000)]


def draw_of(family: str) -> int:
    digest = hashlib.sha256(b"switch:" + family.encode()).digest()
    return int.from_bytes(digest[:8], "big") % 10_000


@cache
def _by_draw() -> dict[int, str]:
    """A family for each of the 10,000 draws."""
    found: dict[int, str] = {}
    for name in (f"f{at}" for at in range(1_000_000)):
        found.setdefault(draw_of(name), name)
        if len(found) == 10_000:
            break
    return found


def family_with(draw: int) -> str:
    return _by_draw()[draw]


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
        (0.07, 6, True),
        (0.07, 7, False),  # 0.07 × 100 is more than 7 in binary
        (0.29, 28, True),  # and 0.29 × 100 less than 29
        (0.29, 29, False),
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


def test_every_percentage_of_two_decimals_lets_in_exactly_its_draws() -> None:
    wrong = []
    for hundredths in range(10_001):
        text = f"{hundredths // 100}.{hundredths % 100:02}"
        switches = Switches(float(text), {})
        edge = [draw for draw in (hundredths - 1, hundredths) if 0 <= draw < 10_000]
        inside = [switches.is_on("m", family_with(draw)) for draw in edge]
        if inside != [draw < Decimal(text) * 100 for draw in edge]:
            wrong.append(text)
    assert wrong == []


def _exactly(percent: float) -> Decimal:
    """Percent × 100 to six decimals, without the dust of binary."""
    return (Decimal(repr(percent)) * 100).quantize(Decimal("1e-6"))


@given(st.text(max_size=30), st.floats(0, 100))
def test_the_draw_is_that_of_the_contract(family: str, percent: float) -> None:
    assert Switches(percent, {}).is_on("m", family) == (draw_of(family) < _exactly(percent))


@given(st.integers(0, 9_999), st.integers(0, 1_000_000))
def test_percentages_of_up_to_four_decimals_are_exact(draw: int, parts: int) -> None:
    switches = Switches(parts / 10_000, {})
    assert switches.is_on("m", family_with(draw)) == (draw < Decimal(parts) / 100)
    edge = min(parts // 100, 9_999)
    assert switches.is_on("m", family_with(edge)) == (edge < Decimal(parts) / 100)


@pytest.mark.parametrize(
    ("family", "draw"),
    # printf switch:FAMILY | sha256sum, its first 16 hexadecimal digits modulo 10,000
    [("resnet50", 2450), ("team/bert", 3358), ("ünïcode", 9211), ("a b", 800)],
)
def test_known_families_draw_what_another_program_says(family: str, draw: int) -> None:
    assert not Switches(draw / 100, {}).is_on("m", family)
    assert Switches((draw + 1) / 100, {}).is_on("m", family)


def test_the_smallest_and_the_largest_share_let_in_and_keep_out_one_in_ten_thousand() -> None:
    many = [f"team/job-{at}" for at in range(30_000)]
    smallest = sum(Switches(0.01, {}).is_on("m", family) for family in many)
    largest = sum(not Switches(99.99, {}).is_on("m", family) for family in many)
    assert 0 < smallest < 10
    assert 0 < largest < 10


@given(st.text(max_size=30), st.lists(st.floats(0, 100), max_size=8))
def test_a_family_that_is_in_stays_in_as_the_share_grows(
    family: str, percentages: list[float]
) -> None:
    growing = [0.0, *sorted(percentages), 100.0]
    answers = [Switches(percent, {}).is_on("m", family) for percent in growing]
    assert answers == sorted(answers)
    assert (answers[0], answers[-1]) == (False, True)


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


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@given(st.floats(0, 100), st.dictionaries(NAMES, st.floats(0, 100), max_size=5))
def test_a_document_reads_back_as_it_was(default: float, shares: dict[str, float]) -> None:
    switches = Switches(default, shares)
    assert parsed(switches.to_json()) == switches
