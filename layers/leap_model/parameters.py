"""The pointer as a deployed stage's readers see it: an SSM parameter (contract section 3).

SSM has no conditional write, so the object in the store decides and the parameter follows it. It
may lag, or for a moment be set back: readers look at the object too (`source.py`).
"""

import json
from typing import Any

from leap_model.aws import client, code_of, is_absent
from leap_model.errors import StoreError
from leap_model.pointer import Pointer, parse_pointer, read_pointer
from leap_model.store import Store, checked_key

MOST_BYTES = 4_096
"""Of a standard parameter."""
_FOLLOWS = 5
"""Times that a follower looks again before it leaves the rest to the one that is moving."""


def pointer_parameter(stage: str, target: str) -> str:
    """The name of the parameter that readers of a stage go by."""
    return f"/leap/{checked_key(stage)}/{checked_key(target)}/pointer"


def store_parameter(stage: str) -> str:
    """The name of the parameter that says where a stage's store is."""
    return f"/leap/{checked_key(stage)}/store"


class Parameters:
    """SSM's parameters, by name.

    Parameters
    ----------
    ssm : optional
        A boto3 client; by default one with the library's time budget.
    """

    def __init__(self, ssm: Any = None) -> None:
        self._ssm = ssm or client("ssm")

    def read(self, name: str) -> str | None:
        """A parameter's text, None where there is none.

        Raises
        ------
        StoreError
            SSM did not say.
        """
        try:
            return str(self._ssm.get_parameter(Name=name)["Parameter"]["Value"])
        except Exception as fault:
            if is_absent(fault):
                return None
            raise StoreError(f"{name} cannot be read: {_why(fault)}") from None

    def write(self, name: str, text: str) -> None:
        """Set a parameter.

        Raises
        ------
        StoreError
            The text is too long, or SSM did not take it.
        """
        size = len(text.encode())
        if size > MOST_BYTES:
            raise StoreError(
                f"{name} would have {size:,} bytes; it must have at most {MOST_BYTES:,}"
            )
        try:
            self._ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)
        except Exception as fault:
            raise StoreError(f"{name} cannot be written: {_why(fault)}") from None


def deployed_pointer(parameters: Parameters, stage: str, target: str) -> Pointer | None:
    """The pointer that a deployed stage's parameter tells.

    Raises
    ------
    ModelUnavailableError, StoreError
        It is there and broken, or SSM did not say.
    """
    text = parameters.read(pointer_parameter(stage, target))
    return None if text is None else parse_pointer(text.encode())


def follow_pointer(parameters: Parameters, store: Store, stage: str, target: str) -> Pointer | None:
    """Make the parameter say what the store's object says, and give that.

    The object is read right before each write of the parameter, and both again after it, until they
    agree. A writer that is overtaken between the two sets the parameter back until it has looked
    again, or until the next run if it ends there; readers go by the object meanwhile.
    """
    name = pointer_parameter(stage, target)
    for _ in range(_FOLLOWS):
        said = parameters.read(name)
        pointer, _ = read_pointer(store, stage, target)
        if pointer is None:
            return None
        text = json.dumps(pointer.to_json())
        if said == text:
            return pointer
        parameters.write(name, text)
    return pointer


def _why(fault: Exception) -> str:
    return code_of(fault) or type(fault).__name__
