"""Results by night and method as JSON files, so that a table goes on where it stopped."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from leap_model.store import Store


@dataclass(frozen=True, slots=True)
class Results:
    """A folder of results: FLEET/NIGHT/METHOD-SETTINGS.json, fleet and settings as digests.

    `fleet` is the digest of what the results are of. A night is a date, or the name of another part
    of what is measured.
    """

    folder: Path
    fleet: str

    def path(self, night: date | str, method: str, settings: Mapping[str, Any]) -> Path:
        """Where the result of a night, a method and its settings lies."""
        name = f"{method}-{digest(settings)}.json"
        return self.folder / self.fleet / str(night) / name

    def read(
        self, night: date | str, method: str, settings: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """The result, None where there is none yet."""
        path = self.path(night, method, settings)
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def write(
        self, night: date | str, method: str, settings: Mapping[str, Any], result: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Keep a result, whole or not at all, and return it with the settings that it is of."""
        path = self.path(night, method, settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"method": method, "settings": settings, **result}
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
        part.replace(path)
        return document


def digest(document: Any) -> str:
    """Twelve hexadecimal digits of what a JSON document says."""
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def fleet_digest(store: Store, truth: Path | None) -> str:
    """The digest of a store's attempts, which are named by their content, its catalogue, and the
    truth's files."""
    files = [(key, store.size(key)) for key in store.keys("attempts")]
    catalogue = store.read("catalogue/hardware.json") or b""
    answers = [] if truth is None else sorted(truth.glob("*.parquet"))
    told = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in answers]
    return digest([sorted(files), hashlib.sha256(catalogue).hexdigest(), told])
