"""Every name, limit, schedule and retention of a deployed stage, in one place."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs

from infra.machine import DEPLOYED, Machine, this_machine

PRODUCTION: Final = "prod"
"""The stage whose data outlives its stack."""
_STAGE: Final = re.compile(r"[a-z][a-z0-9-]{0,23}")
_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+")

TARGETS: Final = ("throughput", "utilization")
"""What may be predicted, hence which pointers there may be."""
TRAINED_TARGETS: Final = ("throughput",)
"""What the nightly run trains."""

# Intake. A batch closes when its window does: it decides the number of objects that a day leaves.
SOURCE: Final = "leap.launcher"
ATTEMPT: Final = "Training Attempt Completed"
RANKING: Final = "Ranking Served"
INGEST_MEMORY_MB: Final = 1_024
INGEST_TIMEOUT_S: Final = 120
INGEST_BATCH: Final = 10_000
"""The most that Lambda takes; a batch closes at 6 MB of payload, some 2,700 attempts, or when its
window does."""
INGEST_WINDOW_S: Final = 300
INGEST_CONCURRENCY: Final = 2
VISIBILITY_S: Final = 6 * INGEST_TIMEOUT_S + INGEST_WINDOW_S
"""Six time-outs, as Lambda asks for, and the window that a message waits for its batch in."""
MOST_RECEIVES: Final = 5
QUEUE_RETENTION_DAYS: Final = 14

# Ranking.
RANK_MEMORY_MB: Final = 1_769
"""One whole processor: a ranking is one thread's work."""
RANK_TIMEOUT_S: Final = 15
RANK_CACHE_S: Final = 60
RANK_SAMPLE: Final = 0.05

# The nightly run.
SCHEDULE: Final = "cron(0 2 * * ? *)"
TIMEZONE: Final = "UTC"
SCHEDULE_RETRIES: Final = 2
SCHEDULE_MOST_AGE_S: Final = 3_600
TASK: Final = "4x16"
"""Processors and GB of memory."""
TASKS: Final = {
    **{f"4x{memory}": (4_096, memory * 1_024) for memory in range(8, 31)},
    **{f"8x{memory}": (8_192, memory * 1_024) for memory in range(16, 61, 4)},
    **{f"16x{memory}": (16_384, memory * 1_024) for memory in range(32, 121, 8)},
}
"""What Fargate has of the sizes that a night of 25,000 attempts a day, or more, runs on."""
RETRAIN_STOP_S: Final = 120
RETRAIN_IMAGE: Final = (
    "public.ecr.aws/docker/library/python@sha256:"
    "6771159cd4fa5d9bba1258caf0b82e6b73458c694d178ad97c5e925c2d0e1a91"
)
"""python:3.13.14-slim-trixie, the index of all its architectures."""
RETRAIN_USER: Final = "1000:1000"

# Retention, in days.
RECORDS_DAYS: Final = 400
"""Attempts, rejected lines and served rankings."""
SUPERSEDED_DAYS: Final = 60
"""Model versions after retrain tagged them as superseded."""
MERGED_DAYS: Final = 7
"""Attempt files after retrain merged them into another."""
SCRATCH_DAYS: Final = 3
"""Finished fits of a night, for the run that comes after one that was killed."""
NONCURRENT_DAYS: Final = 30
"""What was overwritten or deleted by mistake can be brought back for so long."""
ACCESS_LOG_DAYS: Final = 90
SUPERSEDED_TAG: Final = {"leap-superseded": "true"}

# Alarms.
MOST_MODEL_AGE_H: Final = 36
LEAST_W20: Final = 0.5
MOST_EMPTY: Final = 0.2
"""Share of rankings with an empty list."""
MOST_P99_MS: Final = 300
"""What a launcher waits for."""

LOG_RETENTION: Final = logs.RetentionDays.THREE_MONTHS

METRICS: Final = "LEAP"
"""The namespace of the functions' own metrics."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What tells one deployment from another.

    `machine` is what bundles are built for. `alarm_email`, where given, gets the alarms;
    `estimators`, where given, are what the nightly run tries, with commas between them. `task` is
    the size of its task, `scheduler`, where given, the Dask cluster that its fits go to, and
    `window_days` and `history_days`, where given, how many days train and make histories.
    """

    stage: str
    machine: Machine
    alarm_email: str | None = None
    estimators: str | None = None
    task: str = TASK
    scheduler: str | None = None
    window_days: str | None = None
    history_days: str | None = None

    @classmethod
    def of_context(cls, context: Callable[[str], Any]) -> "Settings":
        """Settings from the context, whose values have the names of the fields; `local` is whether
        bundles are for this machine.

        Raises
        ------
        ValueError
            One of them breaks its rule.
        """
        stage = str(context("stage") or "dev")
        if not _STAGE.fullmatch(stage):
            raise ValueError(
                f'stage "{stage}" must be up to 24 lower-case letters, digits and hyphens, '
                "beginning with a letter"
            )
        local = str(context("local") or "false").lower()
        if local not in ("true", "false"):
            raise ValueError(f'local "{local}" must be true or false')
        email = context("alarm_email")
        if email is not None and not _ADDRESS.fullmatch(str(email)):
            raise ValueError("alarm_email must be one address")
        machine = this_machine() if local == "true" else DEPLOYED
        task = str(context("task") or TASK)
        if task not in TASKS:
            raise ValueError(
                f'task "{task}" must be a size that Fargate has: 4x8 to 4x30, 8x16 to 8x60 by 4, '
                "16x32 to 16x120 by 8 (processors x GB)"
            )
        email = None if email is None else str(email)
        return cls(stage, machine, email, task=task, **_learning(context))

    @property
    def production(self) -> bool:
        """Whether what is stored outlives the stack."""
        return self.stage == PRODUCTION

    @property
    def removal(self) -> RemovalPolicy:
        """What becomes of data when the stack is destroyed."""
        return RemovalPolicy.RETAIN if self.production else RemovalPolicy.DESTROY

    def name(self, part: str = "") -> str:
        """The name of the stage's own resource, or of the stage itself."""
        return f"leap-{self.stage}-{part}" if part else f"leap-{self.stage}"

    @property
    def database(self) -> str:
        """The stage's database, as Athena takes names: without hyphens."""
        return self.name().replace("-", "_")

    @property
    def store_parameter(self) -> str:
        """The parameter that says where the stage's store is."""
        return f"/leap/{self.stage}/store"

    def pointers(self, targets: Sequence[str] = TARGETS) -> tuple[str, ...]:
        """The parameters that rankers follow; retrain writes those of what it trains."""
        return tuple(f"/leap/{self.stage}/{target}/pointer" for target in targets)


def _learning(context: Callable[[str], Any]) -> dict[str, str]:
    """How a night learns, and where, as far as the context says it.

    Raises
    ------
    ValueError
        A value breaks its rule.
    """
    names = ("estimators", "scheduler", "window_days", "history_days")
    told = {name: str(value) for name in names if (value := context(name)) is not None}
    if not told:
        return {}
    # Here, since it costs more than the rest of a synthesis without it.
    from functions.retrain.learning.cluster import scheduler_address
    from functions.retrain.learning.presets import named
    from functions.retrain.settings import days_of
    from leap_model.errors import FieldError

    rules: Mapping[str, Callable[[str, str], str]] = {
        "estimators": lambda text, field: ",".join(named(text, field)),
        "scheduler": scheduler_address,
        **dict.fromkeys(
            ("window_days", "history_days"), lambda text, field: str(days_of(text, field))
        ),
    }
    try:
        return {name: rules[name](text, name) for name, text in told.items()}
    except FieldError as fault:
        raise ValueError(str(fault)) from None
