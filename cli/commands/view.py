"""leap view: the attempts of a store as SQL sees them."""

import click

from cli import options
from cli.console import as_json, print_json
from leap_model.store import Store


@click.command("view")
@options.store
@as_json
def command(store: Store, as_json: bool) -> None:
    """Print the statement that makes the view `attempts` in DuckDB: one row an attempt.

    Of a deployed stage the same view is in Athena, as leap_STAGE.attempts.

    Example: leap view --store ./store
    """
    from leap_model.view import NAME, duckdb_view

    statement = duckdb_view(str(store))
    if as_json:
        print_json({"view": NAME, "statement": statement})
    else:
        click.echo(statement, nl=False)
