"""The pointer: read, written conditionally, and never half understood."""

import json
from typing import Any

import pytest

from leap_model.errors import ConflictError, ModelUnavailableError, StoreError
from leap_model.pointer import Pointer, parse_pointer, pointer_key, read_pointer, write_pointer
from leap_model.store import LocalStore

POINTER = Pointer(
    version="2026-01-13-0123456789ab",
    uri="models/throughput/2026-01-13-0123456789ab",
    manifest_sha256="0" * 64,
    as_of="2026-01-13",
    published_at="2026-01-13T02:00:00Z",
)


def test_a_pointer_lies_where_the_contract_says(store: LocalStore) -> None:
    write_pointer(store, "local", "throughput", POINTER, None)
    content = store.read("pointers/local/throughput.json")
    assert content is not None
    assert json.loads(content) == {
        "version": POINTER.version,
        "uri": POINTER.uri,
        "manifest_sha256": POINTER.manifest_sha256,
        "as_of": POINTER.as_of,
        "published_at": POINTER.published_at,
    }
    tag = store.fetch("pointers/local/throughput.json")[1]
    assert read_pointer(store, "local", "throughput") == (POINTER, tag)
    assert len(content) < 4096  # what a standard parameter takes


def test_a_stage_without_a_pointer_has_none(store: LocalStore) -> None:
    assert read_pointer(store, "local", "throughput") == (None, None)
    write_pointer(store, "local", "throughput", POINTER, None)
    assert read_pointer(store, "prod", "throughput") == (None, None)
    assert read_pointer(store, "local", "utilization") == (None, None)


def test_of_two_writers_the_second_loses(store: LocalStore) -> None:
    write_pointer(store, "local", "throughput", POINTER, None)
    _, tag = read_pointer(store, "local", "throughput")
    newer = Pointer("v2", "models/throughput/v2", "1" * 64, "2026-01-14", "2026-01-14T02:00:00Z")
    write_pointer(store, "local", "throughput", newer, tag)
    for stale in (None, tag):
        with pytest.raises(ConflictError):
            write_pointer(store, "local", "throughput", POINTER, stale)
    assert read_pointer(store, "local", "throughput")[0] == newer


@pytest.mark.parametrize(
    ("stage", "target"), [("..", "x"), ("", "x"), ("a", "../../x"), ("a b", "x")]
)
def test_a_stage_or_target_that_climbs_out_is_refused(
    store: LocalStore, stage: str, target: str
) -> None:
    with pytest.raises(StoreError):
        pointer_key(stage, target)
    with pytest.raises(StoreError):
        read_pointer(store, stage, target)


def test_unknown_keys_are_tolerated() -> None:
    assert parse_pointer(json.dumps({**POINTER.to_json(), "more": [1]}).encode()) == POINTER


@pytest.mark.parametrize("name", POINTER.to_json())
@pytest.mark.parametrize(
    "value", [None, 5, True, "", "  ", [], {}, "a" * 2000, "\ud800"], ids=ascii
)
def test_a_malformed_value_makes_no_model_available(
    store: LocalStore, name: str, value: Any
) -> None:
    content = json.dumps(POINTER.to_json() | {name: value}).encode()
    store.create("pointers/local/throughput.json", content)
    with pytest.raises(ModelUnavailableError, match="the pointer is unreadable") as caught:
        read_pointer(store, "local", "throughput")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        *({"uri": uri} for uri in ("/etc", "../x", "models/../..", "s3://bucket/x", "a b")),
        *({"as_of": day} for day in ("yesterday", "2026-02-30", "2026-01-13T00:00:00Z")),
        # These two would compare wrongly with other dates.
        *({"as_of": day} for day in ("20260113", "2026-W03-2")),
        *({"manifest_sha256": text} for text in ("0" * 63, "G" * 64)),
        {"published_at": "today"},
    ],
    ids=str,
)
def test_a_pointer_out_of_the_store_or_of_no_date_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ModelUnavailableError, match="the pointer is unreadable"):
        parse_pointer(json.dumps(POINTER.to_json() | values).encode())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"5", b"[]", b'"x"', b"{}", b"\xff", b"[" * 100_000, b'{"version": NaN}'],
    ids=range(10),
)
def test_what_is_no_pointer_makes_no_model_available(content: bytes) -> None:
    with pytest.raises(ModelUnavailableError, match="the pointer is unreadable") as caught:
        parse_pointer(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", POINTER.to_json())
def test_every_key_is_needed(missing: str) -> None:
    document = POINTER.to_json()
    del document[missing]
    with pytest.raises(ModelUnavailableError, match=missing):
        parse_pointer(json.dumps(document).encode())
