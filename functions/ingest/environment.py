"""What the deployed function is told: environment variables, checked once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from leap_model import fields
from leap_model.errors import MISSING, FieldError

_STORE = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_=+@.-]+)*/?")
_STAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Environment:
    """Where to store, and the stage that the metrics are of."""

    store_uri: str
    stage: str

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> "Environment":
        """What the variables LEAP_STORE and LEAP_STAGE say.

        Raises
        ------
        FieldError
            One is missing or breaks its rule.
        """
        store_rule = "s3://BUCKET or s3://BUCKET/PREFIX"
        stage_rule = "1 to 64 letters, digits, - and _"
        return cls(
            store_uri=_matching(variables, "LEAP_STORE", _STORE, store_rule),
            stage=_matching(variables, "LEAP_STAGE", _STAGE, stage_rule),
        )


def _matching(variables: Mapping[str, str], name: str, pattern: re.Pattern[str], rule: str) -> str:
    value = variables.get(name)
    if value is None:
        raise FieldError(name, MISSING, rule)
    trimmed = fields.text(value, name, longest=1024)
    if not pattern.fullmatch(trimmed):
        raise FieldError(name, value, rule)
    return trimmed
