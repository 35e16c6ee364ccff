"""What a deployed nightly run is told: environment variables, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from functions.retrain.learning.cluster import Cluster, scheduler_address
from functions.retrain.learning.estimator import Estimator
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS, named
from functions.retrain.settings import BUDGET_S, HISTORY_DAYS, MOST_BUDGET_S, WINDOW_DAYS, days_of
from leap_model import fields
from leap_model.environment import stage_name, store_uri
from leap_model.errors import MISSING, FieldError
from leap_model.targets import TARGETS, Target
from leap_model.times import day_of


@dataclass(frozen=True, slots=True)
class Environment:
    """A deployed run. `as_of` is the UTC day of the *scheduled* time, whenever the run starts."""

    store_uri: str
    stage: str
    as_of: date
    targets: tuple[Target, ...]
    estimators: tuple[Estimator, ...]
    """The champion where nothing serves yet, and its challengers."""
    window_days: int
    history_days: int
    budget_s: float
    least_complete: float
    test_run: bool
    cluster: Cluster | None = None
    """Whose workers fit, in the place of this machine's processes."""

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> "Environment":
        """What the variables say.

        Raises
        ------
        FieldError
            One is missing or breaks its rule.
        """
        scheduled = fields.time(
            variables.get("LEAP_SCHEDULED_TIME", MISSING), "LEAP_SCHEDULED_TIME"
        )
        scheduler = variables.get("LEAP_SCHEDULER")
        names = variables.get("LEAP_TARGETS", "throughput").split(",")
        return cls(
            store_uri=store_uri(variables),
            stage=stage_name(variables),
            as_of=day_of(scheduled),
            targets=tuple(
                TARGETS[_one_of(name.strip(), "LEAP_TARGETS", TARGETS)] for name in names
            ),
            estimators=tuple(
                ESTIMATORS[name]
                for name in named(
                    variables.get("LEAP_ESTIMATOR", ",".join(DEFAULT)), "LEAP_ESTIMATOR"
                )
            ),
            window_days=_days(variables, "LEAP_WINDOW_DAYS", WINDOW_DAYS),
            history_days=_days(variables, "LEAP_HISTORY_DAYS", HISTORY_DAYS),
            budget_s=_number(variables, "LEAP_BUDGET_S", BUDGET_S, MOST_BUDGET_S),
            least_complete=_number(variables, "LEAP_LEAST_COMPLETE", 0.2, 1),
            test_run=_one_of(variables.get("LEAP_TEST_RUN", ""), "LEAP_TEST_RUN", ("true", ""))
            == "true",
            cluster=Cluster(scheduler_address(scheduler, "LEAP_SCHEDULER")) if scheduler else None,
        )


def _one_of(value: str, field: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    if value not in known:
        raise FieldError(field, value, f"one of {', '.join(repr(name) for name in known)}")
    return value


def _days(variables: Mapping[str, str], field: str, default: int) -> int:
    return days_of(variables.get(field, str(default)), field)


def _number(variables: Mapping[str, str], field: str, default: float, most: float) -> float:
    text = variables.get(field, str(default))
    try:
        return fields.number(float(text), field, least=0, most=most)
    except ValueError:
        raise FieldError(field, text, f"a number from 0 to {most:,g}") from None
