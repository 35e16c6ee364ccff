"""What the deployed function is told: environment variables, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass

from leap_model.environment import stage_name, store_uri


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
        return cls(store_uri(variables), stage_name(variables))
