"""A store in S3 (contract section 3)."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from leap_model.artifact import earned_by, listed_files
from leap_model.aws import client, code_of, is_absent, is_to_be_tried_again, lost_a_race
from leap_model.errors import ArtifactError, ConflictError, LeapError, StoreError
from leap_model.sealed import MANIFEST, SealedFolder
from leap_model.store import checked_key

_DOWNLOADS = 8
"""Parts of an artifact's files handled at once."""
_PART_BYTES = 4 * 2**20
"""What one download gets of a file: a large one is fetched in several at once."""
_TRIES = 3
"""Further ones of a write that met another of the same object."""
SUPERSEDED = "leap-superseded"
"""The tag of what a bucket's lifecycle may expire."""

T = TypeVar("T")


class S3Store:
    """A store under a bucket and prefix; conditional writes are S3's own.

    Parameters
    ----------
    bucket, prefix : str
        Where it lies; the prefix may be empty.
    s3 : optional
        A boto3 client; by default one with the library's time budget.
    cache : Path, optional
        Folder for artifacts that were fetched; by default one in the temporary folder.
    """

    readers = 8

    def __init__(
        self, bucket: str, prefix: str = "", s3: Any = None, cache: Path | None = None
    ) -> None:
        self.bucket = bucket
        self.prefix = f"{checked_key(prefix)}/" if prefix else ""
        self._s3 = s3 or client("s3")
        self._cache = cache or Path(tempfile.gettempdir()) / "leap-artifacts"

    @classmethod
    def of_uri(cls, uri: str, s3: Any = None, cache: Path | None = None) -> Self:
        """The store at `s3://BUCKET/PREFIX`.

        Raises
        ------
        StoreError
            It is no such address.
        """
        bucket, _, prefix = uri.removeprefix("s3://").rstrip("/").partition("/")
        if not uri.startswith("s3://") or not bucket:
            raise StoreError(f'"{uri[:80]}" is no s3://BUCKET/PREFIX')
        return cls(bucket, prefix, s3, cache)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def keys(self, prefix: str) -> list[str]:
        found: list[str] = []
        with _speaking(prefix, "listed"):
            pages = self._s3.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=f"{self._name(prefix)}/"):
                found.extend(entry["Key"] for entry in page.get("Contents", ()))
        return sorted(key.removeprefix(self.prefix) for key in found)

    def size(self, key: str) -> int | None:
        def head(name: str) -> int:
            return int(self._s3.head_object(Bucket=self.bucket, Key=name)["ContentLength"])

        return self._unless_absent(key, head)

    def read(self, key: str) -> bytes | None:
        return self.fetch(key)[0]

    def fetch(self, key: str) -> tuple[bytes | None, str | None]:
        def get(name: str) -> tuple[bytes, str]:
            answer = self._s3.get_object(Bucket=self.bucket, Key=name)
            return answer["Body"].read(), answer["ETag"]

        return self._unless_absent(key, get) or (None, None)

    def create(self, key: str, content: bytes) -> bool:
        try:
            self._put(key, content, IfNoneMatch="*")
        except ConflictError:
            return False
        return True

    def replace(self, key: str, content: bytes, etag: str | None) -> str:
        condition = {"IfNoneMatch": "*"} if etag is None else {"IfMatch": etag}
        try:
            return self._put(key, content, **condition)
        except ConflictError:
            # Where the answer to a write is lost, its repetition finds what the write itself left.
            current, tag = self.fetch(key)
            if current == content and tag is not None and tag != etag:
                return tag
            raise

    def expire(self, keys: Sequence[str]) -> None:
        def mark(key: str) -> None:
            self._unless_absent(key, lambda name: self._tag(name, superseded=True), "tagged")

        with ThreadPoolExecutor(_DOWNLOADS) as pool:
            list(pool.map(mark, keys))

    def folder(self, prefix: str) -> Path:
        """The artifact's files in the cache, fetched once, several at a time.

        What the manifest lists is fetched and nothing else, so that no right to list is needed.
        Of a target's artifacts the cache keeps this one and the one before: a small disk must
        take any number of nights. Files that are still mapped live on until they are let go of.
        Nothing is kept that is not what the version's name and manifest say: once S3 or the disk
        is repaired, so is what is served.
        """
        place = self._cache / self.bucket / self._name(prefix)
        if not _fault_of(place, prefix):
            return place
        manifest = self.read(f"{prefix}/{MANIFEST}")
        if manifest is None:
            raise StoreError(f"{prefix} has no manifest: it was never completed")
        place.parent.mkdir(parents=True, exist_ok=True)
        self._keep_newest(place.parent)
        fetched = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
        try:
            self._download_all(prefix, _sizes(manifest), fetched)
            (fetched / MANIFEST).write_bytes(manifest)
            if fault := _fault_of(fetched, prefix):
                raise StoreError(f"{prefix} is not kept: {fault}")
            shutil.rmtree(place, ignore_errors=True)  # not sound, or it would have been given
            with suppress(OSError):  # another process had it first
                fetched.rename(place)
        except OSError as fault:
            raise StoreError(f"{prefix} cannot be kept: {fault.strerror or fault}") from None
        finally:
            shutil.rmtree(fetched, ignore_errors=True)
        return place

    def retain(self, prefix: str) -> None:
        # Each file is looked at: what once let them expire may have ended half way.
        self._mark(self._manifest_last(prefix)[::-1], superseded=False)

    def release(self, prefix: str) -> None:
        *others, manifest = self._manifest_last(prefix) or [""]
        # Marked last, as it is written last: with it all of them are.
        if manifest and not self._is_superseded(manifest):
            self._mark(others, superseded=True)
            self._mark([manifest], superseded=True)

    def _manifest_last(self, prefix: str) -> list[str]:
        return sorted(self.keys(prefix), key=lambda key: key.endswith(f"/{MANIFEST}"))

    def _mark(self, keys: list[str], *, superseded: bool) -> None:
        """Give every object the tag that lets it expire, or another value of it."""

        def mark(key: str) -> None:
            if self._is_superseded(key) != superseded:
                with _speaking(key, "tagged"):
                    self._tag(self._name(key), superseded=superseded)

        with ThreadPoolExecutor(_DOWNLOADS) as pool:
            list(pool.map(mark, keys))

    def _tag(self, name: str, *, superseded: bool) -> None:
        # Another value rather than none: taking a tag off would be one more right to have.
        tags = [{"Key": SUPERSEDED, "Value": "true" if superseded else "false"}]
        self._s3.put_object_tagging(Bucket=self.bucket, Key=name, Tagging={"TagSet": tags})

    def _is_superseded(self, key: str) -> bool:
        with _speaking(key, "tagged"):
            found = self._s3.get_object_tagging(**self._place(key))
        return {"Key": SUPERSEDED, "Value": "true"} in found["TagSet"]

    def _place(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._name(key)}

    def _download_all(self, prefix: str, sizes: Mapping[str, int], folder: Path) -> None:
        for name, size in sizes.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate(size)
        parts = [
            (name, first, size)
            for name, size in sizes.items()
            for first in range(0, size, _PART_BYTES)
        ]
        with ThreadPoolExecutor(_DOWNLOADS) as pool:
            downloads = [pool.submit(self._download, prefix, folder, *part) for part in parts]
            try:
                for download in downloads:
                    download.result()
            except Exception:
                # Where S3 stalls, each of hundreds of files would wait for its own time-out.
                pool.shutdown(cancel_futures=True)
                raise

    def _download(self, prefix: str, folder: Path, name: str, first: int, size: int) -> None:
        content = self._read_part(f"{prefix}/{name}", first, size)
        if content is None:
            raise StoreError(f"{prefix}/{name} is not there")
        _write_at(folder / name, first, content)

    def _read_part(self, key: str, first: int, size: int) -> bytes | None:
        """One part of an object of that size, from its byte `first` on."""
        last = min(first + _PART_BYTES, size) - 1

        def get(name: str) -> bytes:
            wanted = f"bytes={first}-{last}"
            answer = self._s3.get_object(Bucket=self.bucket, Key=name, Range=wanted)
            # Closed whatever comes: a connection with an unread body is of no more use to anyone.
            with closing(answer["Body"]) as body:
                if answer["ContentRange"] != f"bytes {first}-{last}/{size}":
                    raise StoreError(f"{key} is not of the size that its manifest states")
                content: bytes = body.read()
                return content

        return self._unless_absent(key, get)

    @staticmethod
    def _keep_newest(folder: Path) -> None:
        """One version stays, and nothing of fetches that were cut off."""
        known = sorted(
            folder.iterdir(), key=lambda path: (path.name[0] != ".", path.stat().st_mtime)
        )
        for old in known[:-1]:
            shutil.rmtree(old, ignore_errors=True)

    def _name(self, key: str) -> str:
        return self.prefix + checked_key(key)

    def _put(self, key: str, content: bytes, **condition: str) -> str:
        place = self._place(key)
        with _speaking(key, "written"):
            for again in range(_TRIES, -1, -1):
                try:
                    answer = self._s3.put_object(**place, Body=content, **condition)
                    break
                except Exception as fault:
                    if not (again and is_to_be_tried_again(fault)):
                        raise
        return str(answer["ETag"])

    def _unless_absent(self, key: str, ask: Callable[[str], T], verb: str = "read") -> T | None:
        with _speaking(key, verb):
            try:
                return ask(self._name(key))
            except Exception as fault:
                if is_absent(fault):
                    return None
                raise


def _write_at(path: Path, first: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(first)
        file.write(content)


def _sizes(manifest: bytes) -> dict[str, int]:
    """The bytes of each file that a manifest lists.

    Raises
    ------
    ArtifactError
        It is no manifest, or states a size that is none.
    """
    names = listed_files(manifest)
    files = json.loads(manifest)["files"]
    try:
        sizes = {name: int(files[name]["bytes"]) for name in names}
    except (ValueError, TypeError, KeyError, OverflowError) as fault:
        raise ArtifactError(f"the artifact's manifest is malformed: {fault!r}") from None
    if min(sizes.values(), default=0) < 0:
        raise ArtifactError("the artifact's manifest states a size below nothing")
    return sizes


def _fault_of(folder: Path, version: str) -> str:
    """What is wrong with the files of an artifact of that name; empty where nothing is."""
    try:
        sealed = SealedFolder(folder)
        if not earned_by(sealed.digest, version):
            return "its manifest is that of another version"
        if not sealed.was_whole():
            sealed.check_all()
            sealed.note_whole()
        return ""
    except Exception as fault:  # whatever a broken manifest leads to
        return str(fault) or repr(fault)


@contextmanager
def _speaking(key: str, verb: str) -> Iterator[None]:
    """Whatever a call fails with, as one of the library's own errors."""
    try:
        yield
    except LeapError:
        raise
    except Exception as fault:
        if lost_a_race(fault):
            raise ConflictError(f"{key[:80]} was changed by another writer") from None
        why = code_of(fault) or type(fault).__name__
        raise StoreError(f"{key[:80]} cannot be {verb}: {why}") from None
