"""Switches: which families are in, the same everywhere and for good."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.errors import ConflictError, FieldError, StoreError
from leap_model.store import LocalStore
from leap_model.switches import (
    EVERYONE,
    NOBODY,
    Switches,
    parse_switches,
    read_switches,
    switches_key,
    write_switches,
)

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


def stored(store: LocalStore, content: bytes) -> None:
    path = store.root / switches_key("prod")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def reread(store: LocalStore) -> Switches:
    """The stage's switches as a ranker reads them, once the strict reader agrees."""
    switches, _ = read_switches(store, "prod")
    assert switches == parse_switches(store.read(switches_key("prod")))
    assert switches is not None
    return switches


def test_a_stage_without_switches_has_none(store: LocalStore) -> None:
    assert read_switches(store, "prod") == (None, None)
    write_switches(store, "prod", 5, {})
    assert read_switches(store, "dev") == (None, None)


def test_what_is_written_is_the_document_of_the_contract(store: LocalStore) -> None:
    write_switches(store, "prod", 12.5, {"resnet": 25, "bert": 0.01})
    assert json.loads(store.read("pointers/prod/switches.json") or b"") == {
        "default": {"percent": 12.5},
        "model_types": {"bert": {"percent": 0.01}, "resnet": {"percent": 25}},
    }


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@given(st.floats(0, 100), st.dictionaries(NAMES, st.floats(0, 100), max_size=5))
def test_a_document_reads_back_as_it_was(default: float, shares: dict[str, float]) -> None:
    switches = Switches(default, shares)
    assert parsed(switches.to_json()) == switches


def test_what_is_written_is_what_is_read_and_returned(store: LocalStore) -> None:
    for default, shares in ((0.0, {}), (100.0, {"bert": 0.0}), (33.3, {"bert": 99.99, "ctr": 1})):
        written = write_switches(store, "prod", default, shares, replace=True)
        assert written == reread(store) == Switches(default, shares)


def test_what_is_not_named_stays(store: LocalStore) -> None:
    write_switches(store, "prod", 10, {"bert": 20, "ctr": 30})
    for default, shares, unset, expected in (
        (None, {"bert": 25}, [], Switches(10, {"bert": 25, "ctr": 30})),
        (50, {}, [], Switches(50, {"bert": 25, "ctr": 30})),
        (None, {"resnet": 1}, [], Switches(50, {"bert": 25, "ctr": 30, "resnet": 1})),
        (None, {}, ["ctr", "bert"], Switches(50, {"resnet": 1})),
        (None, {}, [], Switches(50, {"resnet": 1})),
        (0, {}, [], Switches(0, {"resnet": 1})),
    ):
        assert write_switches(store, "prod", default, shares, unset) == expected
        assert reread(store) == expected


def test_the_first_switches_of_a_stage_leave_out_whom_they_do_not_name(store: LocalStore) -> None:
    assert write_switches(store, "prod", None, {"bert": 20}) == Switches(0, {"bert": 20})
    assert not reread(store).is_on("resnet", "f")


def test_a_model_type_that_is_unset_follows_the_default_again(store: LocalStore) -> None:
    write_switches(store, "prod", 100, {"bert": 0})
    assert not reread(store).is_on("bert", "f")
    write_switches(store, "prod", None, {}, iter(["bert"]))
    assert reread(store).is_on("bert", "f")


@pytest.mark.parametrize("name", ["bert", " bert", "bert ", "\t bert\n"], ids=ascii)
def test_unset_takes_a_name_with_blanks_around_it(store: LocalStore, name: str) -> None:
    write_switches(store, "prod", 100, {"bert": 0, "ctr": 5})
    assert write_switches(store, "prod", None, {}, [name]) == Switches(100, {"ctr": 5})
    assert reread(store) == Switches(100, {"ctr": 5})


def test_what_is_unset_and_named_at_once_is_set(store: LocalStore) -> None:
    write_switches(store, "prod", 100, {"bert": 0})
    assert write_switches(store, "prod", None, {"bert ": 7}, [" bert"]) == Switches(
        100, {"bert": 7}
    )


@pytest.mark.parametrize("names", [["ctr"], [""], ["  "], ["x" * 300], []], ids=ascii)
def test_unsetting_what_is_not_set_changes_nothing(store: LocalStore, names: list[str]) -> None:
    before = write_switches(store, "prod", 10, {"bert": 5})
    assert write_switches(store, "prod", None, {}, names) == before == reread(store)


def test_replacing_starts_from_nothing(store: LocalStore) -> None:
    write_switches(store, "prod", 100, {"bert": 50})
    assert write_switches(store, "prod", None, {"ctr": 5}, replace=True) == Switches(0, {"ctr": 5})


BROKEN = [
    *(b"", b"{", b"null", b"[]", b"5", b"\xff", b"[" * 100_000, b'{"default": 50}'),
    *(b'{"default": {}}', b'{"default": {"percent": 101}}', b'{"model_types": []}'),
    *(b'{"model_types": {"": {"percent": 1}}}', b'{"model_types": {"bert": {"percent": "1"}}}'),
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_document_is_refused_by_its_key_until_it_is_replaced(
    store: LocalStore, content: bytes
) -> None:
    stored(store, content)
    acts: list[Callable[[], object]] = [
        lambda: read_switches(store, "prod"),
        lambda: write_switches(store, "prod", 50, {}),
    ]
    for act in acts:
        with pytest.raises(StoreError) as caught:
            act()
        message = str(caught.value)
        assert message.startswith(
            "pointers/prod/switches.json is broken, so the stage ranks nobody"
        )
        assert message.splitlines() == [message]
    assert store.read(switches_key("prod")) == content
    write_switches(store, "prod", 50, {}, replace=True)
    assert reread(store) == Switches(50, {})


NO_PERCENTAGE = "it must be a finite number at least 0 and at most 100"
LONG = "x" * 257


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"default": {"percent": 101}}', f"default.percent is 101; {NO_PERCENTAGE}"),
        ('{"default": {"percent": NaN}}', f"default.percent is NaN; {NO_PERCENTAGE}"),
        ('{"default": {"percent": null}}', f"default.percent is null; {NO_PERCENTAGE}"),
        ('{"default": {"percent": "5"}}', f'default.percent is "5"; {NO_PERCENTAGE}'),
        ('{"default": {}}', f"default.percent is missing; {NO_PERCENTAGE}"),
        ('{"default": 5}', "default is 5; it must be an object"),
        ('{"default": null}', "default is null; it must be an object"),
        ('{"default": []}', "default is []; it must be an object"),
        (
            '{"model_types": {"bert": {"percent": -1}}}',
            f"model_types.bert.percent is -1; {NO_PERCENTAGE}",
        ),
        (
            '{"model_types": {"ctr": {"percent": 5}, "bert": {}}}',
            f"model_types.bert.percent is missing; {NO_PERCENTAGE}",
        ),
        ('{"model_types": {"bert": 5}}', "model_types.bert is 5; it must be an object"),
        ('{"model_types": {"bert": null}}', "model_types.bert is null; it must be an object"),
        ('{"model_types": {"a\\nb": 5}}', "model_types.a\\nb is 5; it must be an object"),
        ('{"model_types": []}', "model_types is []; it must be an object"),
        ('{"model_types": null}', "model_types is null; it must be an object"),
        (
            '{"model_types": {"": {"percent": 1}}}',
            'model_types is ""; it must be text of 1 to 256 characters',
        ),
        (
            f'{{"model_types": {{"{LONG}": {{"percent": 1}}}}}}',
            f'model_types is "{LONG[:79]}…; it must be text of 1 to 256 characters',
        ),
        ("[]", "switches is []; it must be an object"),
        ("null", "switches is null; it must be an object"),
        ("5", "switches is 5; it must be an object"),
        ('"x"', 'switches is "x"; it must be an object'),
    ],
)
def test_what_is_broken_is_named(store: LocalStore, content: str, said: str) -> None:
    stored(store, content.encode())
    with pytest.raises(StoreError) as caught:
        read_switches(store, "prod")
    key = "pointers/prod/switches.json"
    assert str(caught.value) == f"{key} is broken, so the stage ranks nobody: {said}"


@pytest.mark.parametrize("percent", [-0.01, 100.01, float("nan"), float("inf"), 1e400, "50", True])
@pytest.mark.parametrize("place", ["default", "model type"])
def test_what_is_no_percentage_is_one_sentence_and_writes_nothing(
    store: LocalStore, percent: Any, place: str
) -> None:
    write_switches(store, "prod", 10, {"bert": 20})
    before = store.read(switches_key("prod"))
    values = (percent, {}) if place == "default" else (None, {"bert": percent})
    with pytest.raises(FieldError) as caught:
        write_switches(store, "prod", *values)
    field = "default.percent" if place == "default" else "model_types.bert.percent"
    assert str(caught.value) == f"{field} is {json.dumps(percent)}; {NO_PERCENTAGE}"
    assert store.read(switches_key("prod")) == before


@pytest.mark.parametrize("name", ["", "   ", "x" * 257, "\ud800"], ids=ascii)
def test_a_name_that_no_model_type_has_is_one_sentence_and_writes_nothing(
    store: LocalStore, name: str
) -> None:
    with pytest.raises(FieldError, match="it must be text of 1 to 256 characters"):
        write_switches(store, "prod", None, {name: 5})
    assert store.read(switches_key("prod")) is None


@pytest.mark.parametrize("name", ["bert", " bert ", "\tbert\n"], ids=ascii)
def test_a_name_with_blanks_around_it_is_the_name(store: LocalStore, name: str) -> None:
    write_switches(store, "prod", None, {"bert": 5})
    assert write_switches(store, "prod", None, {name: 50}) == Switches(0, {"bert": 50})
    assert reread(store) == Switches(0, {"bert": 50})
    document = json.loads(store.read(switches_key("prod")) or b"")
    assert document["model_types"] == {"bert": {"percent": 50}}


def test_a_stored_name_with_blanks_around_it_is_the_name(store: LocalStore) -> None:
    stored(store, b'{"model_types": {" bert ": {"percent": 100}}}')
    assert reread(store).is_on("bert", "f")
    assert write_switches(store, "prod", None, {}, ["bert"]) == NOBODY


@pytest.mark.parametrize("stage", ["", "..", "a b", "../x"])
def test_a_stage_that_climbs_out_is_refused(store: LocalStore, stage: str) -> None:
    with pytest.raises(StoreError, match="no key of a store"):
        write_switches(store, stage, 5, {})


@pytest.mark.parametrize("replace", [False, True])
def test_of_writers_at_once_exactly_one_wins(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    write_switches(store, "prod", 10, {"bert": 20})
    together, write = Barrier(3), LocalStore.replace

    def writing(*args: Any) -> str:
        together.wait(30)
        return write(*args)

    def attempted(name: str) -> Switches | None:
        try:
            return write_switches(store, "prod", None, {name: 5}, replace=replace)
        except ConflictError:
            return None

    monkeypatch.setattr(LocalStore, "replace", writing)
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(attempted, ("ctr", "resnet", "dlrm")))
    (won,) = [switches for switches in outcomes if switches is not None]
    assert reread(store) == won
    assert len(won.model_types) == (1 if replace else 2)


@pytest.mark.parametrize("before", [None, b'{"default": {"percent": 50}}'])
@pytest.mark.parametrize("replace", [False, True])
def test_what_another_wrote_since_they_were_read_is_not_written_over(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, before: bytes | None, replace: bool
) -> None:
    read, theirs = LocalStore.read, b'{"default": {"percent": 1}}'
    if before is not None:
        stored(store, before)

    def reading(self: LocalStore, key: str) -> bytes | None:
        content = read(self, key)
        stored(self, theirs)  # right after it was read
        return content

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "read", reading)
        with pytest.raises(ConflictError, match=r"pointers/prod/switches\.json"):
            write_switches(store, "prod", 100, {}, replace=replace)
    assert reread(store) == Switches(1, {})
