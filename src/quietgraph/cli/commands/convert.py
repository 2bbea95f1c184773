"""`quietgraph convert`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    ColumnOption,
    DanglingOption,
    EdgesOption,
    LimitOption,
    NodesOption,
    RootOption,
    UnknownOption,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph convert my_tables/ my_graph/  |  quietgraph convert papers.npz "
    "papers/  |  quietgraph fit my_graph/ --partitions auto"
)
@deferred
def convert(  # noqa: PLR0917
    source: Annotated[str, typer.Argument(help="A folder of tables, a graph file, or a dataset.")],
    target: Annotated[
        Path | None, typer.Argument(help="The folder to write; alone with --edges.")
    ] = None,
    columns: ColumnOption = None,
    nodes: NodesOption = None,
    edges: EdgesOption = None,
    unknown: UnknownOption = None,
    drop_dangling: DanglingOption = False,
    limit: LimitOption = None,
    data_root: RootOption = None,
) -> None:
    """Write a graph as a memory-mapped folder, large ones in bounded memory."""
