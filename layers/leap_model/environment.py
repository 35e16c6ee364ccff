"""Variables that every deployed function is told by, and their rules."""

import re
from collections.abc import Mapping

from leap_model.errors import MISSING, FieldError

_STORE = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_=+@.-]+)*/?")
_STAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def store_uri(variables: Mapping[str, str]) -> str:
    """LEAP_STORE; raises FieldError."""
    return _matching(variables, "LEAP_STORE", _STORE, "s3://BUCKET or s3://BUCKET/PREFIX")


def stage_name(variables: Mapping[str, str]) -> str:
    """LEAP_STAGE; raises FieldError."""
    return _matching(variables, "LEAP_STAGE", _STAGE, "1 to 64 letters, digits, -, _ and .")


def _matching(variables: Mapping[str, str], name: str, pattern: re.Pattern[str], rule: str) -> str:
    text = variables.get(name)
    if text is None or not pattern.fullmatch(text.strip()):
        raise FieldError(name, MISSING if text is None else text, rule)
    return text.strip()
