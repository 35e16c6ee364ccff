"""What a record that breaks a rule becomes: a line of rejected/ (contract section 3)."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from leap_model.errors import FieldError
from leap_model.store import Store
from leap_model.times import format_time


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record's bytes, the first rule it breaks, and when it arrived, in microseconds."""

    body: bytes
    fault: FieldError
    received_at: int

    @property
    def rule(self) -> str:
        """The rule that was broken, without the names that senders give to their own values."""
        field, dot, _ = self.fault.field.partition(".")
        return (
            f"{field}.* must be {self.fault.rule}" if dot else f"{field} must be {self.fault.rule}"
        )

    def to_json(self) -> dict[str, Any]:
        """The line; bytes that are no UTF-8 travel as base64."""
        line = {
            "reason": str(self.fault),
            "field": self.fault.field,
            "received_at": format_time(self.received_at),
        }
        try:
            return {**line, "body": self.body.decode("utf-8")}
        except UnicodeDecodeError:
            return {**line, "body_base64": base64.b64encode(self.body).decode("ascii")}


def write_rejected(store: Store, day: date, lines: Sequence[Rejected]) -> bool:
    """Keep some lines in the folder of their day of arrival; False where they are there already.

    The object's name is derived from the bodies, whatever their order.
    """
    digest = hashlib.sha256()
    for body in sorted(hashlib.sha256(line.body).digest() for line in lines):
        digest.update(body)
    content = "".join(json.dumps(line.to_json()) + "\n" for line in lines)
    key = f"rejected/dt={day.isoformat()}/{digest.hexdigest()[:32]}.jsonl"
    return store.create(key, content.encode())
