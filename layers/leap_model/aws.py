"""AWS clients with a time budget. boto3 is loaded when a client is made, not before."""

from typing import Any

CONNECT_S = 1.0
READ_S = 3.0
ATTEMPTS = 2
"""Of one call. What must answer a launch says less; what runs at night says more."""

_ABSENT = {"NoSuchKey", "404", "NotFound", "ParameterNotFound"}
_LOST = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


def client(
    service: str,
    *,
    connect_s: float = CONNECT_S,
    read_s: float = READ_S,
    attempts: int = ATTEMPTS,
) -> Any:
    """A client whose every call ends in time.

    Parameters
    ----------
    service : str
        As boto3 names it.
    connect_s, read_s : float
        Seconds to connect, and between bytes of an answer.
    attempts : int
        The first included.
    """
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=connect_s,
        read_timeout=read_s,
        retries={"mode": "standard", "total_max_attempts": attempts},
        user_agent_extra="leap",
    )
    return boto3.client(service, config=config)


def code_of(fault: Exception) -> str:
    """AWS's name of a fault, empty where it never answered."""
    answer = getattr(fault, "response", None)
    return str(answer["Error"]["Code"]) if isinstance(answer, dict) else ""


def is_absent(fault: Exception) -> bool:
    """Whether what was asked for does not exist."""
    return code_of(fault) in _ABSENT


def lost_a_race(fault: Exception) -> bool:
    """Whether a conditional write found another state than it wanted."""
    return code_of(fault) in _LOST
