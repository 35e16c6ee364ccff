"""leap doctor: what is wrong with a stage."""

from pathlib import Path

import click

from cli import options
from cli.console import as_json, out, print_json, printable, spinner
from leap_model.times import now_us


def _existing(ctx: click.Context, param: click.Parameter, root: str | None) -> str | None:
    """A folder that is there, or a bucket's address."""
    if root is None:
        return None
    if root.startswith("s3:"):
        if not root.startswith("s3://") or not root.removeprefix("s3://").partition("/")[0]:
            raise click.BadParameter(f"{root} is no s3://BUCKET/PREFIX", ctx, param)
    elif not Path(root).is_dir():
        raise click.BadParameter(f"{root} is no folder that exists", ctx, param)
    return root


@click.command("doctor")
@click.option(
    "--store",
    "root",
    callback=_existing,
    help="A folder, or s3://BUCKET/PREFIX: look at this store alone. Default: a deployed stage.",
)
@click.option("--stage", type=options.STAGE, help="The stage. With --store the default is local.")
@as_json
@click.pass_context
def command(ctx: click.Context, root: str | None, stage: str | None, as_json: bool) -> None:
    """Look a stage over, and print one line for each thing that is wrong with it.

    Without --store it is a stage that is deployed to the account and region of your AWS
    credentials: its stack, parameters, store, queues, functions, schedule and alarms, and whether
    you may ask its function URL. What you may not look at is one line too. Nothing is changed.

    The exit code is 0 where nothing is wrong, 1 where something is, and 2 where nothing was found
    but not everything could be looked at.

    Example: leap doctor --store ./store --stage prod
    """
    # Here, so that the help of a command costs no pyarrow.
    from cli.doctor.examination import examine_store
    from cli.doctor.place import Place, afresh
    from cli.doctor.report import Report

    if root is None and stage is None:
        raise click.UsageError("name what to look at: --stage, or --store for a store alone")
    report, name = Report(), stage or "local"
    with spinner(f"looking at {name}"):
        if root is not None:
            with afresh(root) as store:
                examine_store(report, Place(store, name, now_us()))
        else:
            from cli.doctor.stage import examine_stage

            root = examine_stage(report, name, now_us())
    if as_json:
        print_json({"stage": name, "store": root, **report.to_json()})
    else:
        for line in report.lines():
            out.print(printable(line))
        if report.checked and not report.problems:
            sound = "nothing is wrong with"
            if report.unseen:
                sound = "nothing wrong was found in what could be seen of"
            out.print(f"{sound} {name}; looked at {', '.join(report.checked)}")
    ctx.exit(report.exit_code)
