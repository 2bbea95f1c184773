"""`quietgraph paper`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import CacheOption, FormatOption, RootOption, StoreOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph paper list  |  quietgraph paper classification --budget small "
    "--jobs 2 --estimate  |  quietgraph paper all --budget smoke --format html --out paper.html"
)
@deferred
def paper(  # noqa: PLR0917
    target: Annotated[str, typer.Argument(help="A table or figure, all, or list for the names.")],
    budget: Annotated[str, typer.Option(help="How much to run: smoke, small or full.")] = "small",
    store: StoreOption = Path("results.sqlite"),
    jobs: Annotated[int, typer.Option(help="Runs at a time, one thread each.", min=1)] = 1,
    format: FormatOption = "markdown",  # noqa: A002
    out: Annotated[
        Path | None, typer.Option(help="File to write, figures beside it (else: stdout).")
    ] = None,
    cache: CacheOption = None,
    is_estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what is missing and how long it takes.")
    ] = False,
    is_shown_only: Annotated[
        bool, typer.Option("--no-run", help="Show what the store has; run nothing.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Other draws than the budget's: 5, 1000-1009 or a list.")
    ] = None,
    data_root: RootOption = None,
) -> None:
    """Run what is missing of a table of the paper and print our numbers beside the printed ones."""
