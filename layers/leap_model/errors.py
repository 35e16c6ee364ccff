"""The typed errors of the library: ranking makes a reason of each, a command one line."""

import json
from typing import Any


class LeapError(Exception):
    """Base of every error that LEAP raises on purpose; its text is one clear sentence."""


class FieldError(LeapError):
    """A value breaks the rule of its field.

    Attributes
    ----------
    field : str
        Dotted path of the value within the record or request.
    rule : str
        What the value must be.
    """

    def __init__(self, field: str, value: Any, rule: str) -> None:
        # An entry of an open object has whatever name its sender gave it.
        self.field = field if field.isprintable() else json.dumps(field)[1:-1]
        super().__init__(f"{self.field} is {shown(value)}; it must be {rule}")
        self.rule = rule

    def __reduce__(self) -> tuple[Any, ...]:
        # It crosses processes, which by default make an exception anew from its text alone.
        return _said_again, (str(self), self.field, self.rule)


def _said_again(message: str, field: str, rule: str) -> FieldError:
    fault = FieldError.__new__(FieldError, message)
    fault.args, fault.field, fault.rule = (message,), field, rule
    return fault


class CatalogueError(LeapError):
    """The hardware catalogue breaks a rule; nothing of it is used."""


class StoreError(LeapError):
    """The store cannot be read or written, or a key is not one of its own."""


class ConflictError(StoreError):
    """A conditional write lost: the object is not what the writer believed it to be."""


class ArtifactError(LeapError):
    """A model artifact is incomplete, altered, of an unknown format, or inconsistent."""


class ModelUnavailableError(LeapError):
    """No model can serve: nothing is pointed at, or what is pointed at does not load."""


class SigningError(LeapError):
    """A call cannot be signed: there is no botocore, no credentials or no region."""


class TrainingError(LeapError):
    """A training run cannot give a usable model from the data it was given."""


def shown(value: Any, longest: int = 80) -> str:
    """A value as it may stand in a message: JSON, on one line, cut after `longest` characters.

    A missing value reads "missing", so that messages tell it from null.
    """
    if value is MISSING:
        return "missing"
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= longest else text[:longest] + "…"


class _Missing:
    """The type of MISSING."""


MISSING = _Missing()
"""Stands for a field that is not there, where null would be another thing."""
