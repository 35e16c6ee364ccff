"""The store behind everything: objects under keys, with conditional writes (contract section 3).

A local folder today; S3 fits the same few verbs. Keys are relative, with `/` between their parts.
"""

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from leap_model.errors import ConflictError, StoreError

_PART = r"[A-Za-z0-9_=+@-][A-Za-z0-9_.=+@-]*"
_KEY = re.compile(f"{_PART}(/{_PART})*")


def checked_key(key: str) -> str:
    """The key, if it stays inside the store.

    Raises
    ------
    StoreError
        It is empty, absolute, climbs out, is hidden, or has characters that a store does not use.
    """
    if not _KEY.fullmatch(key):
        raise StoreError(f'"{key[:80]}" is no key of a store')
    return key


class Store(Protocol):
    """What LEAP needs of a place that keeps objects."""

    readers: int
    """How many objects are best read at a time."""

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix (a folder), sorted; none is an empty list."""

    def size(self, key: str) -> int | None:
        """Bytes of an object, None where there is none."""

    def read(self, key: str) -> bytes | None:
        """An object's content, None where there is none."""

    def fetch(self, key: str) -> tuple[bytes | None, str | None]:
        """An object's content and the tag that `replace` needs; both None where there is none."""

    def create(self, key: str, content: bytes) -> bool:
        """Write an object that must not be there yet; False where it is."""

    def replace(self, key: str, content: bytes, etag: str | None) -> str:
        """Write an object over the one with that tag (None: over none); its new tag.

        Raises
        ------
        ConflictError
            The object is another by now.
        """

    def expire(self, keys: Sequence[str]) -> None:
        """Let objects go, whose content lies elsewhere too: at once, or when the store's own rule
        removes them. Those that are gone already are no error."""

    def folder(self, prefix: str) -> Path:
        """A local folder that holds the files of the artifact below a prefix."""

    def retain(self, prefix: str) -> None:
        """What lies below a prefix is in use, or may be: it must not expire."""

    def release(self, prefix: str) -> None:
        """What lies below a prefix may expire, where the store lets anything expire."""


def overwrite(store: Store, key: str, content: bytes) -> None:
    """Write an object that has one current content, whatever it held.

    Raises
    ------
    ConflictError
        Another writer did so at the same moment.
    """
    _, tag = store.fetch(key)
    store.replace(key, content, tag)


class LocalStore:
    """A store in a folder. Writes appear whole or not at all, also to other processes."""

    readers = 2

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    def __str__(self) -> str:
        return str(self.root)

    def keys(self, prefix: str) -> list[str]:
        folder = self.folder(prefix)
        found: list[str] = []
        for parent, _, names in os.walk(folder):
            base = Path(parent).relative_to(self.root).as_posix()
            found.extend(f"{base}/{name}" for name in names if not name.startswith("."))
        return sorted(found)

    def size(self, key: str) -> int | None:
        path = self._path(key)
        return path.stat().st_size if path.is_file() else None

    def read(self, key: str) -> bytes | None:
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as fault:
            raise StoreError(f"{key[:80]} cannot be read: {fault.strerror or fault}") from None

    def fetch(self, key: str) -> tuple[bytes | None, str | None]:
        content = self.read(key)
        return content, None if content is None else _tag(content)

    def create(self, key: str, content: bytes) -> bool:
        path = self._path(key)
        with _writing(key), _temporary(path, content) as temporary:
            if not self._link(temporary, path):
                return False
            _sync_folder(path.parent)
        return True

    def replace(self, key: str, content: bytes, etag: str | None) -> str:
        path = self._path(key)
        with _writing(key), _temporary(path, content) as temporary, _locked(path):
            if self.fetch(key)[1] != etag:
                raise ConflictError(f"{key} was changed by another writer")
            if etag is None and not self._link(temporary, path):
                raise ConflictError(f"{key} was created by another writer")
            if etag is not None:
                temporary.replace(path)
            _sync_folder(path.parent)
        return _tag(content)

    def expire(self, keys: Sequence[str]) -> None:
        for key in keys:
            with _writing(key, "removed"):
                self._path(key).unlink(missing_ok=True)

    def folder(self, prefix: str) -> Path:
        return self._path(prefix)

    def retain(self, prefix: str) -> None:
        checked_key(prefix)  # nothing expires in a folder

    def release(self, prefix: str) -> None:
        checked_key(prefix)

    @staticmethod
    def _link(temporary: Path, path: Path) -> bool:
        """Name a file, unless the name is taken: the one step that is exclusive."""
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        return True

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)


def _tag(content: bytes) -> str:
    """The tag by which a conditional write knows a content."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _writing(key: str, verb: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise StoreError(f"{key[:80]} cannot be {verb}: {fault.strerror or fault}") from None


@contextmanager
def _temporary(path: Path, content: bytes) -> Iterator[Path]:
    """The content in a hidden file beside its future place, on disk before it is named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time: comparing and replacing are two steps on a file system."""
    with path.with_name(f".{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
