"""Switches of a stage: what is read, what is changed and kept, what is refused."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from leap_model.errors import ConflictError, FieldError, StoreError
from leap_model.store import LocalStore
from leap_model.switches import (
    NOBODY,
    Switches,
    parse_switches,
    read_switches,
    switches_key,
    write_switches,
)


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
