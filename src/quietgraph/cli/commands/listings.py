"""`quietgraph methods` and `quietgraph datasets`: their options."""

from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import DATA, JsonOption, RootOption

commands = typer.Typer()


@commands.command(epilog="Example:  quietgraph methods gcl-lr-attention", rich_help_panel=DATA)
@deferred
def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show the parameters of this one.", metavar="NAME")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods, or the parameters of one."""


@commands.command(epilog="Example:  quietgraph datasets --data-root ~/graphs", rich_help_panel=DATA)
@deferred
def datasets(data_root: RootOption = None, as_json: JsonOption = False) -> None:
    """List the datasets: size, homophily, split, whether they are here."""
