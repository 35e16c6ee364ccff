"""What the cache of artifacts keeps is sound: nothing broken in it outlives its repair in S3."""

import io
import json
import types
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest

from leap_model import s3
from leap_model.artifact import Packed, load, pack, publish
from leap_model.errors import LeapError, StoreError
from leap_model.s3 import S3Store
from tests.aws import account
from tests.unit.leap_model.builders import tiny_artifact

Change = Callable[[bytes], bytes | None]


def _flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


CHANGES: dict[str, Change] = {
    "flipped": _flipped,
    "cut short": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "longer": lambda content: content + b"\n",
    "missing": lambda content: None,
}
NAMES = (
    *("manifest.json", "model.json", "schema.json", "training.json", "catalogue.json"),
    *("history/runs.npy", "history/family.npy"),
)
BROKEN_IN = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Iterator[S3Store]]:
    """One store after the other: of the same bucket, each with an empty cache."""
    with account(monkeypatch, "fleet", "eu-west-1"):
        client = boto3.client("s3")
        yield (S3Store("fleet", "leap", client, tmp_path / f"cache-{at}") for at in count())


def _published(store: S3Store, as_of: str = "2026-01-13") -> tuple[str, Packed]:
    packed = pack(tiny_artifact(as_of=as_of))
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    return uri, packed


def _put(store: S3Store, key: str, content: bytes | None) -> None:
    place = {"Bucket": "fleet", "Key": f"leap/{key}"}
    if content is None:
        store._s3.delete_object(**place)
    else:
        store._s3.put_object(**place, Body=content)


def _content(packed: Packed, name: str) -> bytes:
    return packed.manifest if name == "manifest.json" else packed.files[name]


def _loads(store: S3Store, uri: str, packed: Packed) -> bool:
    try:
        return pack(load(store.folder(uri), packed.manifest_sha256)).manifest == packed.manifest
    except LeapError:
        return False


@BROKEN_IN
def test_what_is_broken_in_s3_loads_once_it_is_repaired_there(
    name: str, caches: Iterator[S3Store]
) -> None:
    uri, packed = _published(next(caches))
    sound = _content(packed, name)
    for way, change in CHANGES.items():
        store = next(caches)
        _put(store, f"{uri}/{name}", change(sound))
        assert not _loads(store, uri, packed), way
        assert not _loads(store, uri, packed), way
        _put(store, f"{uri}/{name}", sound)
        assert _loads(store, uri, packed), way


@BROKEN_IN
def test_what_is_broken_on_the_disk_is_fetched_again(name: str, caches: Iterator[S3Store]) -> None:
    store = next(caches)
    uri, packed = _published(store)
    for way, change in CHANGES.items():
        path = store.folder(uri) / name
        content = change(path.read_bytes())
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        assert _loads(store, uri, packed), way


@BROKEN_IN
def test_a_version_that_is_broken_does_not_displace_the_one_before(
    name: str, caches: Iterator[S3Store]
) -> None:
    store = next(caches)
    served = store.folder(_published(store, "2026-01-12")[0])
    uri, packed = _published(store)
    for way, change in CHANGES.items():
        _put(store, f"{uri}/{name}", change(_content(packed, name)))
        for _ in range(2):
            assert not _loads(store, uri, packed), way
        assert list(served.parent.iterdir()) == [served], way


def test_files_of_another_version_are_not_kept(caches: Iterator[S3Store]) -> None:
    store = next(caches)
    uri, packed = _published(store)
    other = pack(tiny_artifact(as_of="2026-01-14"))
    for name in ("manifest.json", *packed.files):
        _put(store, f"{uri}/{name}", _content(other, name))
    assert not _loads(store, uri, packed)
    for name in ("manifest.json", *packed.files):
        _put(store, f"{uri}/{name}", _content(packed, name))
    assert _loads(store, uri, packed)


def test_a_large_file_is_fetched_in_parts_and_is_the_same(
    caches: Iterator[S3Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any size of a part: more than a file, a file's own, one that leaves a rest."""
    store = next(caches)
    uri, packed = _published(store)
    largest = max(map(len, packed.files.values()))
    for part in (largest + 1, largest, largest - 1, 100):
        monkeypatch.setattr(s3, "_PART_BYTES", part)
        folder = next(caches).folder(uri)
        for name, content in packed.files.items():
            assert (folder / name).read_bytes() == content, (name, part)


def test_a_part_that_is_lost_on_the_way_leaves_nothing_kept(
    caches: Iterator[S3Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_PART_BYTES", 100)
    uri, _ = _published(next(caches))
    store = next(caches)
    get = store._s3.get_object

    def losing(**wanted: Any) -> Any:
        if wanted.get("Range", "").startswith("bytes=100-"):
            raise ConnectionError("lost")
        return get(**wanted)

    monkeypatch.setattr(store._s3, "get_object", losing)
    with pytest.raises(StoreError, match="cannot be read"):
        store.folder(uri)
    monkeypatch.undo()
    assert load(store.folder(uri))


@pytest.mark.parametrize("size", [-1, "many", None, 1e400])
def test_a_size_that_is_none_is_refused(size: Any, caches: Iterator[S3Store]) -> None:
    store = next(caches)
    uri, packed = _published(store)
    manifest = json.loads(packed.manifest)
    manifest["files"]["model.json"]["bytes"] = size
    _put(store, f"{uri}/manifest.json", json.dumps(manifest).encode())
    with pytest.raises(LeapError):
        next(caches).folder(uri)


def test_a_part_of_another_size_leaves_no_connection_open() -> None:
    body = io.BytesIO(b"half")
    client = types.SimpleNamespace(
        get_object=lambda **_: {"ContentRange": "bytes 0-3/4", "Body": body},
        exceptions=types.SimpleNamespace(NoSuchKey=KeyError),
    )
    store = S3Store("bucket", s3=client)
    with pytest.raises(StoreError, match="is not of the size that its manifest states"):
        store._read_part("models/x", 0, 8)
    assert body.closed
