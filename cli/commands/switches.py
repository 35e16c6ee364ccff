"""leap switches: which job families a stage ranks."""

import click

from cli import options
from cli.console import as_json, out, print_json, print_table
from leap_model.store import Store
from leap_model.switches import Switches, read_switches, write_switches


class _ShareType(click.ParamType[tuple[str, float]]):
    name = "name=percent"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, equals, percent = str(value).rpartition("=")
        if not equals or not name.strip() or not percent.strip():
            self.fail(f"{value} is no MODEL_TYPE=PERCENT", param, ctx)
        return name.strip(), options.PERCENT.convert(percent, param, ctx)


@click.group("switches")
def command() -> None:
    """See and set the share of job families that a stage ranks, by model type."""


@command.command("show")
@options.store
@options.stage
@as_json
def show(store: Store, stage: str, as_json: bool) -> None:
    """The stage's switches. A stage without any ranks nobody.

    Example: leap switches show --store ./store --stage prod
    """
    switches, _ = read_switches(store, stage)
    if as_json:
        print_json((switches or Switches(0.0, {})).to_json() | {"set": switches is not None})
        return
    if switches is None:
        out.print(f"the stage {stage} has no switches: it ranks nobody where it is deployed")
        return
    _print(switches, stage)


@command.command("set")
@options.store
@options.stage
@click.option(
    "--default",
    "default",
    type=options.PERCENT,
    help="Percent of families of model types without a share.",
)
@click.option(
    "--model-type",
    "shares",
    type=_ShareType(),
    multiple=True,
    metavar="NAME=PERCENT",
    help="Percent of families of one model type; may be repeated.",
)
@click.option(
    "--unset", multiple=True, metavar="NAME", help="A model type that follows the default again."
)
@click.option("--replace", is_flag=True, help="Start from nothing, whatever is set.")
@as_json
def set_(
    store: Store,
    stage: str,
    default: float | None,
    shares: tuple[tuple[str, float], ...],
    unset: tuple[str, ...],
    replace: bool,
    as_json: bool,
) -> None:
    """Change the stage's switches; what is not named stays as it is.

    A family that is in stays in while percentages grow. Rankers follow within a minute.

    Example: leap switches set --store ./store --stage prod --model-type resnet=25
    """
    if default is None and not shares and not unset and not replace:
        raise click.UsageError("name what to set: --default, --model-type, --unset or --replace")
    switches = write_switches(store, stage, default, dict(shares), unset, replace=replace)
    if as_json:
        print_json(switches.to_json() | {"set": True})
        return
    _print(switches, stage)


def _print(switches: Switches, stage: str) -> None:
    rows = [(name, f"{share:g} %") for name, share in sorted(switches.model_types.items())]
    columns = ("model type", "families ranked")
    print_table(
        f"Switches of {stage}", columns, [*rows, ("every other", f"{switches.default:g} %")]
    )
