"""The store in S3 keeps the same promises as the one in a folder; moto is the S3."""

import errno
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from leap_model import s3
from leap_model.artifact import Artifact, Packed, load, pack, publish
from leap_model.errors import ConflictError, StoreError
from leap_model.s3 import S3Store
from leap_model.store import LocalStore
from tests.aws import account
from tests.unit.leap_model.builders import tiny_artifact


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with account(monkeypatch, "fleet", "eu-west-1"):
        yield


@pytest.fixture
def bucket(tmp_path: Path) -> S3Store:
    """A store below a prefix of a bucket."""
    return S3Store("fleet", "stage/one", cache=tmp_path / "cache")


BOTH = pytest.mark.parametrize("kind", ["folder", "bucket"])


@pytest.fixture
def either(kind: str, bucket: S3Store, tmp_path: Path) -> Any:
    return bucket if kind == "bucket" else LocalStore(tmp_path / "store")


@BOTH
def test_what_is_created_is_read_and_never_overwritten(either: Any) -> None:
    assert either.fetch("a/b") == (None, None)
    assert either.read("a/b") is None
    assert either.size("a/b") is None
    assert either.create("a/b", b"first")
    assert not either.create("a/b", b"second")
    assert (either.read("a/b"), either.size("a/b")) == (b"first", 5)


@BOTH
def test_replacing_goes_by_the_tag_that_was_fetched(either: Any) -> None:
    first = either.replace("a/b", b"1", None)
    assert either.fetch("a/b") == (b"1", first)
    second = either.replace("a/b", b"2", first)
    for stale in (None, first):
        with pytest.raises(ConflictError, match="a/b was changed by another writer"):
            either.replace("a/b", b"3", stale)
    assert either.fetch("a/b") == (b"2", second)


@BOTH
def test_keys_are_listed_sorted_and_below_their_folder_only(either: Any) -> None:
    for key in ("a/c", "a/b/z", "a/B", "ab/x"):
        either.create(key, b"")
    assert either.keys("a") == ["a/B", "a/b/z", "a/c"]
    assert either.keys("a/b") == ["a/b/z"]
    assert either.keys("nowhere") == []


@BOTH
@pytest.mark.parametrize("key", ["", "../x", "/etc/passwd", "a//b", "a b", "a/"])
def test_keys_that_climb_out_are_refused(either: Any, key: str) -> None:
    for use in (either.keys, either.size, either.read, either.fetch, either.folder):
        with pytest.raises(StoreError, match="is no key of a store"):
            use(key)


def test_what_may_go_goes_by_the_buckets_own_rule(bucket: S3Store) -> None:
    for key in ("a/b", "a/c"):
        bucket.create(key, b"x")
    for _ in range(2):
        bucket.expire(["a/b", "a/gone"])
    client = boto3.client("s3")
    tags = {
        key: client.get_object_tagging(Bucket="fleet", Key=f"stage/one/{key}")["TagSet"]
        for key in ("a/b", "a/c")
    }
    assert tags == {"a/b": [{"Key": s3.SUPERSEDED, "Value": "true"}], "a/c": []}
    assert bucket.keys("a") == ["a/b", "a/c"]


def test_what_may_go_of_a_folder_is_gone(tmp_path: Path) -> None:
    folder = LocalStore(tmp_path)
    for key in ("a/b", "a/c"):
        folder.create(key, b"x")
    for _ in range(2):
        folder.expire(["a/b", "a/gone"])
    assert folder.keys("a") == ["a/c"]


def test_more_than_a_listing_holds_is_listed(bucket: S3Store) -> None:
    for at in range(1_001):
        bucket.create(f"attempts/dt=2026-01-02/{at:04}.parquet", b"")
    keys = bucket.keys("attempts")
    assert (len(keys), keys[-1]) == (1_001, "attempts/dt=2026-01-02/1000.parquet")


def test_two_stores_of_one_bucket_do_not_meet(bucket: S3Store) -> None:
    other = S3Store("fleet", "stage/two")
    bucket.create("a/b", b"x")
    assert other.read("a/b") is None
    assert S3Store("fleet").keys("stage") == ["stage/one/a/b"]


def test_an_address_names_bucket_and_prefix() -> None:
    assert str(S3Store.of_uri("s3://fleet/a/b")) == "s3://fleet/a/b"
    assert str(S3Store.of_uri("s3://fleet/")) == "s3://fleet"
    for address in ("fleet/a", "s3://", "https://fleet", "s3:///a"):
        with pytest.raises(StoreError, match="is no s3://BUCKET/PREFIX"):
            S3Store.of_uri(address)


class _Failing:
    """A client whose every call fails in one way."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            raise self._fault

        return call


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject"), "AccessDenied"),
        (ClientError({"Error": {"Code": "SlowDown"}}, "GetObject"), "SlowDown"),
        (ReadTimeoutError(endpoint_url="x"), "ReadTimeoutError"),
        (ConnectionResetError("secret"), "ConnectionResetError"),
    ],
)
def test_whatever_s3_fails_with_is_one_sentence_about_the_key(fault: Exception, why: str) -> None:
    store = S3Store("fleet", s3=_Failing(fault))
    for verb, use in (
        ("read", store.read),
        ("read", store.size),
        ("listed", store.keys),
        ("written", lambda key: store.create(key, b"")),
    ):
        with pytest.raises(StoreError, match=rf"^a/b cannot be {verb}: {why}$"):
            use("a/b")


def test_of_writers_at_once_one_wins(bucket: S3Store) -> None:
    turns = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads meet where they otherwise seldom do
    try:
        with ThreadPoolExecutor(8) as pool:
            for key in (f"a/{number}" for number in range(20)):
                writes = [pool.submit(bucket.create, key, b"%d" % at) for at in range(8)]
                won = [write.result() for write in writes]
                assert sum(won) == 1
                assert bucket.read(key) == b"%d" % won.index(True)
    finally:
        sys.setswitchinterval(turns)


def _published(store: S3Store, day: int) -> tuple[str, Packed]:
    packed = pack(tiny_artifact(as_of=f"2026-01-{day:02}"))
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    return uri, packed


def test_an_artifact_is_fetched_once_and_loads_as_it_was_published(bucket: S3Store) -> None:
    uri, packed = _published(bucket, 13)
    folder = bucket.folder(uri)
    artifact: Artifact = load(folder, packed.manifest_sha256)
    assert pack(artifact).manifest == packed.manifest
    for key in bucket.keys(uri):
        boto3.client("s3").delete_object(Bucket="fleet", Key=f"stage/one/{key}")
    assert bucket.folder(uri) == folder


def test_an_artifact_that_was_never_completed_is_not_kept(bucket: S3Store, tmp_path: Path) -> None:
    uri, packed = _published(bucket, 13)
    name = next(iter(packed.files))
    boto3.client("s3").delete_object(Bucket="fleet", Key=f"stage/one/{uri}/{name}")
    with pytest.raises(StoreError, match="is not there"):
        bucket.folder(uri)
    assert bucket.create(f"{uri}/{name}", packed.files[name])  # repaired, it is taken up
    load(bucket.folder(uri), packed.manifest_sha256)
    boto3.client("s3").delete_object(Bucket="fleet", Key=f"stage/one/{uri}/manifest.json")
    with pytest.raises(StoreError, match="no manifest"):
        S3Store("fleet", "stage/one", cache=tmp_path / "other").folder(uri)


def test_twenty_nights_leave_two_artifacts_in_the_cache(bucket: S3Store, tmp_path: Path) -> None:
    first = None
    for day in range(1, 21):
        uri, packed = _published(bucket, day)
        artifact = load(bucket.folder(uri), packed.manifest_sha256)
        first = first or artifact
        kept = list((tmp_path / "cache/fleet/stage/one/models/throughput").iterdir())
        assert len(kept) <= 2
    assert first is not None
    assert first.model.checked()  # what is mapped stays readable though its files are gone


@pytest.mark.parametrize("room", [0, 3, "all but the manifest"])
def test_a_full_disk_leaves_no_part_behind_and_is_got_over(
    bucket: S3Store, tmp_path: Path, room: Any
) -> None:
    served, _ = _published(bucket, 1)
    kept = bucket.folder(served)
    uri, packed = _published(bucket, 2)
    left = len(packed.files) if isinstance(room, str) else room
    written: list[str] = []
    write, write_at = Path.write_bytes, s3._write_at

    def full(path: Path, content: Any) -> int:
        if len(written) >= left:
            write(path, content[:1])
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path.name)
        return write(path, content)

    def full_at(path: Path, first: int, content: bytes) -> None:
        if len(written) >= left:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path.name)
        write_at(path, first, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        patch.setattr(s3, "_write_at", full_at)
        for _ in range(3):
            with pytest.raises(StoreError, match="cannot be kept: No space left on device"):
                bucket.folder(uri)
            written.clear()
    assert list(kept.parent.iterdir()) == [kept]
    load(bucket.folder(uri), packed.manifest_sha256)


def test_a_stalled_download_does_not_wait_for_every_file(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, _ = _published(bucket, 13)
    asked: list[str] = []

    def stalled(self: S3Store, key: str, first: int, size: int) -> bytes | None:
        asked.append(key)
        raise StoreError(f"{key} cannot be read: ReadTimeoutError")

    monkeypatch.setattr(S3Store, "_read_part", stalled)
    with pytest.raises(StoreError, match="ReadTimeoutError"):
        bucket.folder(uri)
    assert len(asked) <= 1 + 2 * 8


class _Meeting:
    """A client whose first writes meet another one that is under way."""

    def __init__(self, meetings: int, loses_answers: bool = False) -> None:
        self._s3 = boto3.client("s3")
        self._meetings = meetings
        self._loses_answers = loses_answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s3, name)

    def put_object(self, **request: Any) -> Any:
        if self._meetings:
            self._meetings -= 1
            if self._loses_answers:
                self._s3.put_object(**request)
                raise ClientError({"Error": {"Code": "PreconditionFailed"}}, "PutObject")
            raise ClientError({"Error": {"Code": "ConditionalRequestConflict"}}, "PutObject")
        return self._s3.put_object(**request)


def test_a_write_that_meets_another_is_tried_again_and_never_taken_for_done() -> None:
    assert S3Store("fleet", s3=_Meeting(2)).create("a", b"x")
    assert S3Store("fleet").read("a") == b"x"
    with pytest.raises(StoreError, match="b cannot be written: ConditionalRequestConflict"):
        S3Store("fleet", s3=_Meeting(100)).create("b", b"x")


def test_a_write_whose_answer_was_lost_is_known_by_its_content() -> None:
    store = S3Store("fleet")
    tag = store.replace("a", b"1", None)
    again = S3Store("fleet", s3=_Meeting(1, loses_answers=True)).replace("a", b"2", tag)
    assert store.fetch("a") == (b"2", again)
