"""What a failed look comes from, in one sentence that names the missing right where it is that."""

from collections.abc import Iterator
from typing import Final

from leap_model.aws import code_of
from leap_model.errors import LeapError, StoreError

_DENIED: Final = {
    *("AccessDenied", "AccessDeniedException", "403", "Forbidden", "AllAccessDisabled"),
    *("UnauthorizedOperation", "UnauthorizedAccess", "AuthorizationError", "NotAuthorized"),
}
_ACTIONS: Final = {
    "ListObjectsV2": "s3:ListBucket",
    "HeadObject": "s3:GetObject",
    "GetObject": "s3:GetObject",
    "GetObjectTagging": "s3:GetObjectTagging",
    "GetParameter": "ssm:GetParameter",
}
"""The right that a call of the library's own asks for."""


class LookError(LeapError):
    """Something could not be looked at; the text says why."""


def is_denied(fault: BaseException) -> bool:
    """Whether AWS said no, rather than nothing or that there is none."""
    return any(_code(link) in _DENIED for link in _chain(fault))


def code_in(fault: BaseException) -> str:
    """AWS's name of the fault that an error was made of, empty where there is none."""
    return next(filter(None, map(_code, _chain(fault))), "")


def reason_of(fault: BaseException) -> str:
    """Why a look failed, on one line."""
    if isinstance(fault, LookError):
        return str(fault)
    if isinstance(fault, StoreError) and is_denied(fault):
        place = str(fault).partition(" cannot be ")[0]
        operation = next(filter(None, map(_operation, _chain(fault))), "")
        return lacking(_ACTIONS.get(operation, operation), place)
    text = " ".join(str(fault).split())
    return text if isinstance(fault, LeapError) else f"{type(fault).__name__}: {text}"


def lacking(action: str, on: str) -> str:
    """The sentence about a missing right."""
    return f"the caller lacks {action} on {on}"


def _chain(fault: BaseException | None) -> Iterator[BaseException]:
    """A fault, and what it was made of: the library's own errors keep AWS's as their context."""
    while fault is not None:
        yield fault
        fault = fault.__cause__ or fault.__context__


def _code(fault: BaseException) -> str:
    return code_of(fault) if isinstance(fault, Exception) else ""


def _operation(fault: BaseException) -> str:
    return str(getattr(fault, "operation_name", ""))
