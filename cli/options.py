"""Options that several commands share."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from functions.retrain.learning.presets import DEFAULT, ESTIMATORS, configured, named
from functions.retrain.settings import Settings
from leap_model.errors import FieldError, StoreError
from leap_model.store import LocalStore, Store, checked_key
from leap_model.stores import open_store
from leap_model.targets import TARGETS

_EARLIEST, _LATEST = date(1970, 1, 1), date(2199, 12, 31)


class _StoreType(click.ParamType[Store]):
    name = "root"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Store:
        if not isinstance(value, (str, Path)):
            return value  # type: ignore[return-value]  # converted already
        if isinstance(value, str) and value.startswith("s3:"):
            try:
                return open_store(value)
            except StoreError as fault:
                self.fail(str(fault), param, ctx)
        path = Path(value)
        if path.exists() and not path.is_dir():
            self.fail(f"{path} is not a folder", param, ctx)
        return LocalStore(path)


class _ExistingStoreType(_StoreType):
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Store:
        store = super().convert(value, param, ctx)
        if isinstance(store, LocalStore) and not store.root.is_dir():
            self.fail(f"{store.root} does not exist", param, ctx)
        return store


class _DateType(click.ParamType[date]):
    name = "date"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> date:
        if isinstance(value, date):
            return value
        try:
            day = date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value} is no date; give one as 2026-01-31", param, ctx)
        if not _EARLIEST <= day <= _LATEST:
            self.fail(f"{value} must lie between {_EARLIEST} and {_LATEST}", param, ctx)
        return day


class _StageType(click.ParamType[str]):
    name = "stage"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        stage = str(value)
        if "/" in stage:
            self.fail(f"{stage} is no name of a stage", param, ctx)
        return checked_key(stage)


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


class _FiniteRange(click.FloatRange):
    """Of a range, also not NaN, which no bound keeps out."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type]
        if number != number:
            self.fail(f"{value} is no number", param, ctx)
        return number


SHARE = _FiniteRange(0, 1)
PERCENT = _FiniteRange(0, 100)
DATE = _DateType()
STAGE = _StageType()

new_store = click.option(
    "--store",
    type=_StoreType(),
    required=True,
    help="A folder, made where absent, or s3://BUCKET/PREFIX.",
)
store = click.option(
    "--store", type=_ExistingStoreType(), required=True, help="A folder, or s3://BUCKET/PREFIX."
)
stage = click.option("--stage", type=STAGE, default="local", show_default=True, help="The stage.")
target = click.option(
    "--target",
    type=click.Choice(list(TARGETS)),
    default=Settings().target.name,
    show_default=True,
    help="What is predicted.",
)
horizon_days = click.option(
    "--horizon-days",
    type=click.IntRange(1, 3_650),
    default=1,
    show_default=True,
    help="Days from each night on that it is scored on.",
)
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


def today() -> date:
    """The current UTC day."""
    return datetime.now(UTC).date()


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
