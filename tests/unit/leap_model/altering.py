"""Published versions changed on purpose, and what the library says of them."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leap_model.artifact import FORMAT_VERSION, load
from leap_model.errors import ArtifactError
from leap_model.sealed import MANIFEST


def refusal(folder: Path, manifest_sha256: str | None = None) -> str:
    with pytest.raises(ArtifactError) as caught:
        load(folder, manifest_sha256)
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


def sealed(folder: Path, **manifest: Any) -> str:
    """Write the manifest anew over whatever lies there; what a pointer would quote."""
    files = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in folder.rglob("*.*")
        if path.name != MANIFEST and not path.name.startswith(".")
    }
    content = json.dumps({"format_version": FORMAT_VERSION, "files": files} | manifest).encode()
    (folder / MANIFEST).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def npy(array: Any, **settings: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **settings)
    return buffer.getvalue()


def change(name: str, **values: Any) -> Callable[[Path], None]:
    """Set keys of a document."""

    def changed(folder: Path) -> None:
        document = json.loads((folder / name).read_bytes())
        (folder / name).write_text(json.dumps(document | values))

    return changed


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def written(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return written
