"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RootOption: TypeAlias = Annotated[
    str | None, typer.Option("--data-root", help="Folder of the raw files (else QUIETGRAPH_DATA).")
]
StoreOption: TypeAlias = Annotated[
    Path, typer.Option("--store", help="SQLite file of the results.")
]
CacheOption: TypeAlias = Annotated[
    Path | None, typer.Option("--cache", help="Folder for embeddings (default: the user's cache).")
]
FormatOption: TypeAlias = Annotated[
    str, typer.Option("--format", help="markdown, latex, csv or html.")
]
SourceArgument: TypeAlias = Annotated[
    str, typer.Argument(help="A dataset name, a folder of tables, or a graph file.")
]
ColumnOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="How to read a column of your own table: NAME=label, id, number, scaled, date, "
        "category, text, vector or ignore.",
    ),
]
NodesOption: TypeAlias = Annotated[
    Path | None, typer.Option(help="A table of nodes of your own (CSV or Parquet), with --edges.")
]
EdgesOption: TypeAlias = Annotated[
    Path | None, typer.Option(help="A table of edges of your own, in place of a source.")
]
UnknownOption: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A word in your own tables that means unknown, such as ?")
]
DanglingOption: TypeAlias = Annotated[
    bool, typer.Option("--drop-dangling", help="Leave out edges to ids that are no nodes.")
]
LimitOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Memory that reading a file may take, such as 8GB (else 20 times its size and 200 MB)."
    ),
]
