"""A store in S3. boto3 is loaded when a store is made, never when this module is imported."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leap_model.aws import client
from leap_model.errors import ConflictError, StoreError
from leap_model.store import checked_key

_ABSENT = {"NoSuchKey", "404", "NotFound"}
_LOST = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_DOWNLOADS = 8
"""Files of an artifact fetched at once."""


class S3Store:
    """A store under a bucket and prefix. Conditional writes are S3's own.

    Parameters
    ----------
    bucket, prefix : str
        Where it lies; the prefix may be empty.
    s3 : optional
        A boto3 client; by default one with the library's time limits.
    cache : Path, optional
        Folder for artifacts that were fetched; by default one of the temporary folder.
    """

    def __init__(
        self, bucket: str, prefix: str = "", s3: Any = None, cache: Path | None = None
    ) -> None:
        self.bucket = bucket
        self.prefix = f"{checked_key(prefix)}/" if prefix else ""
        self._s3 = s3 or client("s3")
        self._cache = cache or Path(tempfile.gettempdir()) / "leap-artifacts"

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def keys(self, prefix: str) -> list[str]:
        pages = self._s3.get_paginator("list_objects_v2")
        found: list[str] = []
        with _speaking(prefix, "listed"):
            for page in pages.paginate(Bucket=self.bucket, Prefix=f"{self._name(prefix)}/"):
                found.extend(entry["Key"] for entry in page.get("Contents", ()))
        return sorted(key.removeprefix(self.prefix) for key in found)

    def size(self, key: str) -> int | None:
        return self._unless_absent(
            key, lambda name: int(self._s3.head_object(Bucket=self.bucket, Key=name)["ContentLength"])
        )

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
        if etag is None:
            return self._put(key, content, IfNoneMatch="*")
        return self._put(key, content, IfMatch=etag)

    def folder(self, prefix: str) -> Path:
        """The artifact's files in the cache, fetched once, several at a time.

        What the manifest lists is fetched and nothing else, so that reading needs no listing.
        Artifacts fetched before the last one are removed: a disk of 512 MB must take any number
        of nights. Files that are still mapped live on until they are let go of.
        """
        place = self._cache / checked_key(prefix)
        if (place / MANIFEST).is_file():
            return place
        manifest = self.read(f"{prefix}/{MANIFEST}")
        if manifest is None:
            raise StoreError(f"{prefix} has no manifest: it was never completed")
        names = listed_files(manifest)
        self._cache.mkdir(parents=True, exist_ok=True)
        fetched = Path(tempfile.mkdtemp(prefix=".", dir=self._cache))
        try:
            with ThreadPoolExecutor(_DOWNLOADS) as pool:
                list(pool.map(lambda name: self._download(prefix, name, fetched), names))
            (fetched / MANIFEST).write_bytes(manifest)
            place.parent.mkdir(parents=True, exist_ok=True)
            self._forget_all_but_newest(place.parent)
            with suppress(OSError):  # another thread or process was first
                fetched.rename(place)
        finally:
            shutil.rmtree(fetched, ignore_errors=True)
        return place

    def _download(self, prefix: str, name: str, folder: Path) -> None:
        content = self.read(f"{prefix}/{checked_key(name)}")
        if content is None:
            raise StoreError(f"{prefix}/{name} is not there")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    @staticmethod
    def _forget_all_but_newest(folder: Path) -> None:
        known = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in known[:-1]:
            shutil.rmtree(old, ignore_errors=True)

    def _put(self, key: str, content: bytes, **condition: str) -> str:
        with _speaking(key, "written"):
            try:
                answer = self._s3.put_object(
                    Bucket=self.bucket, Key=self._name(key), Body=content, **condition
                )
            except ClientError as fault:
                if fault.response["Error"]["Code"] in _LOST:
                    raise ConflictError(f"{key} was changed by another writer") from None
                raise
        return str(answer["ETag"])
