"""Options that several commands share."""

from datetime import UTC, date, datetime
from pathlib import Path

import click

from leap_model.errors import StoreError
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
    default="throughput",
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


def today() -> date:
    """The current UTC day."""
    return datetime.now(UTC).date()
