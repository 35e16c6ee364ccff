"""The pointer: which version a stage serves for a target."""

import json
import re
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from leap_model import fields
from leap_model.errors import FieldError, ModelUnavailableError, StoreError
from leap_model.store import Store, checked_key
from leap_model.times import parse_time

_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """Names one complete artifact. `uri` is relative to the store's root, `as_of` a date."""

    version: str
    uri: str
    manifest_sha256: str
    as_of: str
    published_at: str

    def to_json(self) -> dict[str, str]:
        """The document of the contract."""
        return asdict(self)


def pointer_key(stage: str, target: str) -> str:
    """Where a stage's pointer lies."""
    return checked_key(f"pointers/{stage}/{target}.json")


def read_pointer(store: Store, stage: str, target: str) -> tuple[Pointer | None, str | None]:
    """The pointer, and the tag that a conditional write over it needs; both None without one.

    Raises
    ------
    ModelUnavailableError
        The pointer is there but cannot be read.
    """
    content, tag = store.fetch(pointer_key(stage, target))
    return None if content is None else parse_pointer(content), tag


def parse_pointer(content: bytes) -> Pointer:
    """A pointer from its JSON."""
    try:
        document: Any = json.loads(content)
        names = ("version", "uri", "manifest_sha256", "as_of", "published_at")
        values = {name: fields.text(document[name], name, 1024) for name in names}
        if date.fromisoformat(values["as_of"]).isoformat() != values["as_of"]:
            raise ValueError("as_of must be a date such as 2026-01-31")
        if not _SHA256.fullmatch(values["manifest_sha256"]):
            raise ValueError("manifest_sha256 must be 64 hexadecimal digits")
        parse_time(values["published_at"])
        checked_key(values["uri"])
        return Pointer(**values)
    except (ValueError, KeyError, TypeError, FieldError, StoreError, RecursionError) as fault:
        raise ModelUnavailableError(f"the pointer is unreadable: {fault}") from None


def newest(*pointers: Pointer | None) -> Pointer | None:
    """The one that was pointed at last; of equals the first, None where there is none.

    A move's `published_at` is after that of what it replaced (`move_pointer`), whatever the clocks
    of those who move: of two that a stage pointed at, the greater came later.
    """
    known = [pointer for pointer in pointers if pointer is not None]
    return max(known, key=lambda pointer: parse_time(pointer.published_at), default=None)


def write_pointer(
    store: Store, stage: str, target: str, pointer: Pointer, etag: str | None
) -> None:
    """Move the pointer from the state that `etag` names.

    Raises
    ------
    ConflictError
        Another writer moved it first.
    """
    content = json.dumps(pointer.to_json(), indent=2) + "\n"
    store.replace(pointer_key(stage, target), content.encode(), etag)
