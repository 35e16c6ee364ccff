"""Options that several commands share."""

from datetime import UTC, date, datetime
from pathlib import Path

import click

from functions.retrain.estimators import ESTIMATORS
from functions.retrain.settings import TARGETS, Settings
from leap_model.store import LocalStore, checked_key

_EARLIEST, _LATEST = date(1970, 1, 1), date(2199, 12, 31)


class _StoreType(click.ParamType[LocalStore]):
    name = "root"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> LocalStore:
        if isinstance(value, LocalStore):
            return value
        path = Path(str(value))
        if path.exists() and not path.is_dir():
            self.fail(f"{path} is not a folder", param, ctx)
        return LocalStore(path)


class _ExistingStoreType(_StoreType):
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> LocalStore:
        store = super().convert(value, param, ctx)
        if not store.root.is_dir():
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


DATE = _DateType()
STAGE = _StageType()

new_store = click.option(
    "--store", type=_StoreType(), required=True, help="Root of the store; made where absent."
)
store = click.option("--store", type=_ExistingStoreType(), required=True, help="Root of the store.")
stage = click.option("--stage", type=STAGE, default="local", show_default=True, help="The stage.")
target = click.option(
    "--target",
    type=click.Choice(TARGETS),
    default=TARGETS[0],
    show_default=True,
    help="What is predicted.",
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


def today() -> date:
    """The current UTC day."""
    return datetime.now(UTC).date()
