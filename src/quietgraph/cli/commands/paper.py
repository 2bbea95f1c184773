"""`quietgraph paper`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    FLAG,
    MEASURE,
    OUTPUT,
    CacheOption,
    FormatOption,
    JsonOption,
    RootOption,
    StoreOption,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph paper list\n"
    "  quietgraph paper classification --budget small --jobs 2 --estimate\n"
    "  quietgraph paper all --budget smoke --format html --out paper.html",
    rich_help_panel=MEASURE,
)
@deferred
def paper(  # noqa: PLR0917
    target: Annotated[
        str, typer.Argument(help="A table or figure, all, or list for the names.", metavar="TARGET")
    ],
    budget: Annotated[
        str, typer.Option(help="How much to run: smoke, small or full.", metavar="NAME")
    ] = "small",
    store: StoreOption = Path("results.sqlite"),
    jobs: Annotated[
        int, typer.Option(help="Runs at a time, one thread each.", metavar="N", min=1)
    ] = 1,
    format: FormatOption = "markdown",  # noqa: A002
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write, figures beside it (else: stdout).",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    cache: CacheOption = None,
    is_estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Only say what is missing and how long it takes.", metavar=FLAG
        ),
    ] = False,
    is_shown_only: Annotated[
        bool, typer.Option("--no-run", help="Show what the store has; run nothing.", metavar=FLAG)
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Other draws: 5, 1000-1009 or a list.", metavar="N")
    ] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a table of the paper, our numbers beside the printed ones."""
