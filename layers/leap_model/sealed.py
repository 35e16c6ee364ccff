"""A folder of files under a manifest that states their digests: no altered byte is ever used.

What is handed out was digested first. Digesting everything takes a tenth of a second for the
largest models, so a folder that was found whole once is noted in a hidden file beside it, by the
size, times and inode of each file. While these still hold, a file is digested when it is first used
rather than when the folder is opened. The note decides when a file is digested, never whether: a
wrong one harms nothing.
"""

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from leap_model.errors import ArtifactError
from leap_model.store import checked_key

MANIFEST: Final = "manifest.json"
NOTE: Final = ".found-whole"


class SealedFolder:
    """The files of a manifest. `manifest` is its document, `digest` its SHA-256 in hexadecimal.

    Raises
    ------
    ArtifactError
        There is no manifest, or it is not the one of this digest.
    """

    def __init__(self, folder: Path, manifest_sha256: str | None = None) -> None:
        try:
            content = (folder / MANIFEST).read_bytes()
        except OSError:
            raise ArtifactError("the artifact has no manifest: it was never completed") from None
        digest = hashlib.sha256(content).hexdigest()
        if manifest_sha256 is not None and digest != manifest_sha256:
            raise ArtifactError("the artifact's manifest is not the one that the pointer names")
        self.manifest: Mapping[str, Any] = json.loads(content)
        self._folder = folder
        self.digest = digest

    def __contains__(self, name: str) -> bool:
        return name in self.manifest["files"]

    def read(self, name: str) -> bytes:
        """A file's content.

        Raises
        ------
        ArtifactError
            It is not listed, not there, or not what was written.
        """
        try:
            content = self._path(name).read_bytes()
        except OSError:
            raise ArtifactError(f"the artifact lacks its file {name}") from None
        self._check(name, hashlib.sha256(content).hexdigest())
        return content

    def mapped(self, name: str) -> mmap.mmap | bytes:
        """The same as `read`, mapped into memory."""
        try:
            with self._path(name).open("rb") as file:
                # Read, not touched where it is mapped: that would make all of it resident.
                self._check(name, hashlib.file_digest(file, "sha256").hexdigest())
                if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
                    return b""
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            raise ArtifactError(f"the artifact lacks its file {name}") from None

    def check_all(self) -> None:
        """Digest every file.

        Raises
        ------
        ArtifactError
            One is not there, or not what was written.
        """
        for name in self.manifest["files"]:
            self.mapped(name)

    def was_whole(self) -> bool:
        """Whether the folder was found whole before, and no file has changed its times since."""
        try:
            note = json.loads((self._folder / NOTE).read_bytes())
            return bool(note == self._note())
        except (OSError, ValueError, RecursionError):
            return False

    def note_whole(self) -> None:
        """Remember that every file was digested; nothing where the folder cannot be written."""
        with suppress(OSError):
            handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=self._folder)
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump(self._note(), file)
                Path(name).replace(self._folder / NOTE)
            finally:
                Path(name).unlink(missing_ok=True)

    def _note(self) -> dict[str, Any]:
        states = {name: self._path(name).stat() for name in self.manifest["files"]}
        return {
            "manifest": self.digest,
            "files": {
                name: [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
                for name, state in states.items()
            },
        }

    def _path(self, name: str) -> Path:
        if name not in self.manifest["files"]:
            raise ArtifactError(f"the artifact's manifest does not list {name}")
        return self._folder / checked_key(name)

    def _check(self, name: str, digest: str) -> None:
        if digest != self.manifest["files"][name]["sha256"]:
            with suppress(OSError):
                (self._folder / NOTE).unlink()  # the next to open it digests everything
            raise ArtifactError(f"the artifact's file {name} was altered")
