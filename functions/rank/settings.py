"""What the environment says to the rank function, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from leap_model import fields, limits
from leap_model.environment import stage_name, store_uri

_SAMPLE = 0.05


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the models are, and what is recorded.

    `cache_s` seconds pass before pointer and switches are read again. A share `sample` of the
    rankings is sent to the event bus `bus`; without a bus none is.
    """

    store: str
    stage: str
    cache_s: float
    bus: str
    sample: float

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """The settings of an environment.

        Raises
        ------
        FieldError
            The first variable that breaks its rule.
        """
        return cls(
            store=store_uri(environment),
            stage=stage_name(environment),
            cache_s=_number(environment, "LEAP_CACHE_S", limits.POINTER_CACHE_S),
            bus=environment.get("LEAP_BUS", ""),
            sample=_number(environment, "LEAP_SAMPLE", _SAMPLE, most=1.0),
        )


def _number(
    environment: Mapping[str, str], name: str, otherwise: float, most: float | None = None
) -> float:
    text = environment.get(name, "")
    if not text:
        return otherwise
    try:
        value: float | str = float(text)
    except ValueError:
        value = text
    return fields.number(value, name, least=0.0, most=most)
