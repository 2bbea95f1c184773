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
