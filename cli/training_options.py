"""Options of commands that train. They bring the learning code, which others do without."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, TypeVar, cast

import click

from functions.retrain.learning.cluster import Cluster, scheduler_address
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS, configured, named
from functions.retrain.settings import MOST_DAYS, Settings
from leap_model.errors import FieldError
from leap_model.targets import TARGETS

T = TypeVar("T")


class _Checked(click.ParamType[T]):
    """What a function of the library makes of a text, or its one sentence for why it does not."""

    def __init__(self, name: str, field: str, check: Callable[[str, str], T]) -> None:
        self.name, self._field, self._check = name, field, check

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            return cast(T, value)  # converted already
        try:
            return self._check(value, self._field)
        except FieldError as fault:
            self.fail(str(fault), param, ctx)


def _assignments(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    named = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value} is no NAME=VALUE", ctx, param)
        named[name.strip()] = text
    return named


_days = partial(click.option, type=click.IntRange(1, MOST_DAYS), show_default=True)

window_days = _days("--window-days", default=Settings().window_days, help="Days that train.")

history_days = _days(
    "--history-days",
    default=Settings().history_days,
    help="Days that histories of families are made of, those that train among them.",
)


estimator = click.option(
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default=Settings().estimator.name,
    show_default=True,
    help="How to learn.",
)
estimators = click.option(
    "--estimator",
    "estimators",
    type=_Checked("name[,name…]", "estimator", named),
    default=",".join(DEFAULT),
    show_default=True,
    help="How to learn. Of several, the best on the last days of the window; the first, or what "
    "serves now, gives way only to one that is surely better.",
)
processes = click.option(
    "--processes",
    type=click.IntRange(1, 1_024),
    help="Processes that train. Default: one a core. The result is the same.",
)


def engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where fits are made; the command gets them as `processes`."""

    @processes
    @click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        show_default=True,
        help="Fit on this machine, or on the workers of a Dask cluster. The result is the same.",
    )
    @click.option(
        "--scheduler",
        type=_Checked("address", "scheduler", scheduler_address),
        help="The Dask cluster's, such as tcp://host:8786.",
    )
    @wraps(command)
    def chosen(
        *arguments: Any, engine: str, scheduler: str | None, processes: int | None, **options: Any
    ) -> Any:
        if (engine == "dask") != (scheduler is not None):
            raise click.UsageError("--engine dask and --scheduler ADDRESS go together")
        if scheduler is not None and processes is not None:
            raise click.UsageError("--processes are this machine's; a Dask cluster has its workers")
        where = processes if scheduler is None else Cluster(scheduler)
        return command(*arguments, processes=where, **options)

    return chosen


constants = click.option(
    "--set",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_assignments,
    help="Another value for a constant of the (first) estimator; may be repeated.",
)


def settings_of(
    estimator: str,
    constants: Mapping[str, str],
    *,
    challengers: Sequence[str] = (),
    target: str = "throughput",
    **values: Any,
) -> Settings:
    """The settings that options name. Constants are those of `estimator`.

    Raises
    ------
    FieldError
        The estimator has no such constant, or a value breaks its rule.
    """
    try:
        chosen = configured(estimator, constants)
    except FieldError as fault:
        raise click.BadParameter(str(fault), param_hint="'--set'") from None
    others = tuple(configured(name, {}) for name in challengers)
    return Settings(target=TARGETS[target], estimator=chosen, challengers=others, **values)
