"""leap rank: one ranking."""

import json
import sys
from typing import Any

import click

from cli import options
from cli.console import as_json, print_json
from cli.preference import print_answer
from leap_model.errors import LeapError
from leap_model.store import Store


class RequestFileError(LeapError):
    """The request file is no JSON."""


@click.command("rank")
@click.argument("request_file", metavar="REQUEST.json", type=click.File("rb"))
@options.store
@click.option("--stage", type=options.STAGE, help="Whose pointer and switches apply.")
@click.option(
    "--no-premium-filter",
    is_flag=True,
    help="Rank premium types that the job would not use well enough, too.",
)
@as_json
def command(
    request_file: Any,
    store: Store,
    stage: str | None,
    no_premium_filter: bool,
    as_json: bool,
) -> None:
    """Rank the candidates of REQUEST.json (- is standard input) by predicted samples per dollar.

    Without --stage the stage local answers and no switches apply. The exit code is 1 where the
    request is invalid.

    Example: leap rank request.json --store ./store
    """
    from leap_model import Ranker

    name = getattr(request_file, "name", "<stdin>")
    try:
        request = json.loads(request_file.read())
    except (ValueError, RecursionError) as fault:
        raise RequestFileError(f"{name} is not JSON: {fault}") from None
    ranker = Ranker.from_store(
        str(store),
        stage or "local",
        switched=stage is not None,
        premium_filter=not no_premium_filter,
    )
    answer = ranker.rank(request)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
    if answer["reason"] == "invalid_request":
        if as_json:
            click.echo(f"Error: {answer['detail']}", err=True)
        sys.exit(1)
