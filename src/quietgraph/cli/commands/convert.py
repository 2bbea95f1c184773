"""`quietgraph convert`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    DATA,
    ColumnOption,
    JsonOption,
    RootOption,
    TableOptions,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph convert my_tables/ my_graph/\n"
    "  quietgraph convert papers.npz papers/\n  quietgraph fit my_graph/ --partitions auto",
    rich_help_panel=DATA,
)
@deferred
def convert(  # noqa: PLR0917
    source: Annotated[
        str, typer.Argument(help="A dataset, tables in a folder, or a file.", metavar="SOURCE")
    ],
    target: Annotated[
        Path | None,
        typer.Argument(help="The folder to write; alone with --edges.", metavar="TARGET"),
    ] = None,
    columns: ColumnOption = None,
    tables: TableOptions = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a graph as a memory-mapped folder, in bounded memory."""
