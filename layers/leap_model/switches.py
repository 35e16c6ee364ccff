"""Switches: which job families a stage ranks (contract section 3)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from leap_model import fields
from leap_model.errors import MISSING, FieldError, StoreError
from leap_model.store import Store, checked_key

_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Switches:
    """Percentages of families that are ranked, by model type, with a default for the rest."""

    default: float
    model_types: Mapping[str, float]

    def is_on(self, model_type: str, family: str) -> bool:
        """Whether the family is in: always the same answer, and growing shares keep it in."""
        digest = hashlib.sha256(f"switch:{family}".encode()).digest()
        draw = int.from_bytes(digest[:8], "big") % _DRAWS
        share = self.model_types.get(model_type, self.default)
        # 0.07 × 100 is a little over 7 in binary, and would let one draw more in.
        return draw < round(share * (_DRAWS // 100), 6)

    def to_json(self) -> dict[str, Any]:
        """The document of the contract."""
        shares = {name: {"percent": share} for name, share in sorted(self.model_types.items())}
        return {"default": {"percent": self.default}, "model_types": shares}


EVERYONE = Switches(100.0, {})
NOBODY = Switches(0.0, {})


def switches_key(stage: str) -> str:
    """Where a stage's switches lie."""
    return checked_key(f"pointers/{stage}/switches.json")


def parse_switches(content: bytes | None) -> Switches:
    """The switches that a ranker goes by; none, or a broken document, ranks nobody."""
    if content is None:
        return NOBODY
    try:
        return _parse(content)
    except ValueError:
        return NOBODY


def read_switches(store: Store, stage: str) -> tuple[Switches | None, str | None]:
    """The stage's switches, and the tag that a write over them needs; both None without any.

    Raises
    ------
    StoreError
        They are there but broken.
    """
    key = switches_key(stage)
    content, tag = store.fetch(key)
    if content is None:
        return None, None
    try:
        return _parse(content), tag
    except ValueError as fault:
        raise StoreError(f"{key} is broken, so the stage ranks nobody: {fault}") from None


def write_switches(
    store: Store,
    stage: str,
    default: float | None,
    shares: Mapping[str, float],
    unset: Iterable[str] = (),
    *,
    replace: bool = False,
) -> Switches:
    """Change what is named of a stage's switches, and give what they are now.

    Parameters
    ----------
    store, stage : Store, str
        Whose.
    default : float, optional
        Percent of the families of model types without a share; None leaves it.
    shares : mapping
        Percent by model type.
    unset : iterable
        Model types that follow the default again.
    replace : bool
        Start from nothing, also where what is set is broken.

    Raises
    ------
    FieldError
        A name or percentage breaks a rule; nothing was written.
    StoreError
        What is set is broken, or was changed by another writer at the same moment.
    """
    key = switches_key(stage)
    if replace:
        current, etag = NOBODY, store.fetch(key)[1]
    else:
        known, etag = read_switches(store, stage)
        current = known or NOBODY
    gone = {name.strip() for name in unset}
    kept = {name: share for name, share in current.model_types.items() if name not in gone}
    named = {fields.text(name, "model_types"): share for name, share in shares.items()}
    share = current.default if default is None else default
    changed = Switches(share, {**kept, **named}).to_json()
    content = (json.dumps(changed, indent=2) + "\n").encode()
    switches = _of_document(changed)
    store.replace(key, content, etag)
    return switches


def _parse(content: bytes) -> Switches:
    """Raises ValueError with what is wrong."""
    try:
        return _of_document(json.loads(content))
    except (FieldError, RecursionError) as fault:
        raise ValueError(str(fault)) from None


def _of_document(document: Any) -> Switches:
    whole = _object(document, "switches")
    types = _object(whole.get("model_types", {}), "model_types")
    return Switches(
        _percent(whole.get("default", {"percent": 0}), "default"),
        {
            fields.text(name, "model_types"): _percent(entry, f"model_types.{name}")
            for name, entry in types.items()
        },
    )


def _percent(entry: object, field: str) -> float:
    percent = _object(entry, field).get("percent", MISSING)
    return fields.number(percent, f"{field}.percent", least=0, most=100)


def _object(value: object, field: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise FieldError(field, value, "an object")
    return value
