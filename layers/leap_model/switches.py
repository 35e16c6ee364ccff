"""Switches: which job families a stage ranks (contract section 3)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from leap_model import fields
from leap_model.errors import FieldError

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
        return draw < self.model_types.get(model_type, self.default) * (_DRAWS // 100)


EVERYONE = Switches(100.0, {})
NOBODY = Switches(0.0, {})


def parse_switches(content: bytes | None) -> Switches:
    """The switches of a deployed stage; none, or a broken document, ranks nobody."""
    if content is None:
        return NOBODY
    try:
        document = json.loads(content)
        types = document.get("model_types", {})
        return Switches(
            _percent(document.get("default", {"percent": 0})),
            {fields.text(name, "model_types"): _percent(entry) for name, entry in types.items()},
        )
    except (ValueError, AttributeError, TypeError, KeyError, FieldError, RecursionError):
        return NOBODY


def _percent(entry: Mapping[str, object]) -> float:
    return fields.number(entry["percent"], "percent", least=0, most=100)
