"""Options of commands that train. They bring the learning code, which others do without."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from functions.retrain.learning.presets import DEFAULT, ESTIMATORS, configured, named
from functions.retrain.settings import Settings
from leap_model.errors import FieldError
from leap_model.targets import TARGETS


class _EstimatorsType(click.ParamType[tuple[str, ...]]):
    name = "name[,name…]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return named(str(value), "estimator")
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


window_days = click.option(
    "--window-days",
    type=click.IntRange(1, 36_500),
    default=Settings().window_days,
    show_default=True,
    help="Days that train.",
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
    type=_EstimatorsType(),
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
