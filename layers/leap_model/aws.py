"""AWS clients with a time budget. botocore is loaded when a client is made, not before."""

from dataclasses import dataclass
from typing import Any

_ABSENT = {"NoSuchKey", "404", "NotFound", "ParameterNotFound"}
_LOST = {"PreconditionFailed", "412"}
_AGAIN = {"ConditionalRequestConflict", "409"}


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds to connect, seconds between bytes of an answer, and how often a call is tried."""

    connect_s: float
    read_s: float
    attempts: int


PATIENT = Budget(2.0, 10.0, 4)
"""For what runs at night or from a queue."""
HURRIED = Budget(0.5, 1.0, 1)
"""For what a launch waits for."""


def session() -> Any:
    """What clients share: credentials, and what botocore reads from disk. Not for several threads
    that make clients at once."""
    # Not boto3, whose clients are these: what it adds to them nothing here calls, and a cold start
    # would wait a tenth of a second for it.
    from botocore.session import get_session

    return get_session()


def client(service: str, budget: Budget = PATIENT, shared: Any = None) -> Any:
    """A client whose every call ends in time, as boto3 makes them.

    Parameters
    ----------
    service, budget : str, Budget
        Which, and how long its calls may take.
    shared : optional
        A `session`, by default one of its own.
    """
    from botocore.config import Config

    config = Config(
        connect_timeout=budget.connect_s,
        read_timeout=budget.read_s,
        retries={"mode": "standard", "total_max_attempts": budget.attempts},
        user_agent_extra="leap",
    )
    return (shared or session()).create_client(service, config=config)


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


def is_to_be_tried_again(fault: Exception) -> bool:
    """Whether another conditional write was under way: nothing is known of how it ended."""
    return code_of(fault) in _AGAIN
