"""`quietgraph convert`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import RootOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph convert my_tables/ my_graph/  |  quietgraph convert papers.npz "
    "papers/  |  quietgraph fit my_graph/ --partitions auto"
)
@deferred
def convert(
    source: Annotated[str, typer.Argument(help="A folder of tables, a graph file, or a dataset.")],
    target: Annotated[Path, typer.Argument(help="The folder to write.")],
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="How to read a column of your own table: NAME=KIND."),
    ] = None,
    data_root: RootOption = None,
) -> None:
    """Write a graph as a memory-mapped folder, large ones in bounded memory."""
