"""Options that several commands have, and the groups that `--help` shows them in."""

from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from quietgraph.cli.deferred import OptionGroup

OWN_TABLES: Final = "Own tables"
CORRECTED: Final = "Corrected labels"
BENCHMARK: Final = "Benchmark data"
LARGE: Final = "Large graphs"
SERVER: Final = "Server"
SEARCH: Final = "What is searched"
THEORY: Final = "Theory"
LIMITS: Final = "Where and how long"
SELECTION: Final = "Only some runs"
OUTPUT: Final = "Output"
MEASURE: Final = "Measure"  # groups of commands, as are those of the next line
DATA: Final = "Data and methods"
FLAG: Final = ""  # what `--help` shows as the value of an option that takes none

JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", metavar=FLAG)
]
RootOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--data-root",
        help="Raw files (else QUIETGRAPH_DATA).",
        metavar="DIR",
        rich_help_panel=BENCHMARK,
    ),
]
StoreOption: TypeAlias = Annotated[
    Path, typer.Option("--store", help="SQLite file of the results.", metavar="FILE")
]
CacheOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Embeddings (else the user's cache).",
        metavar="DIR",
        rich_help_panel=LIMITS,
    ),
]
FormatOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format",
        help="markdown, latex, csv, html or json.",
        metavar="NAME",
        rich_help_panel=OUTPUT,
    ),
]
ThreadsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Threads of one process.", metavar="N", rich_help_panel=LARGE
    ),
]
HostOption: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Address to listen on; 0.0.0.0 for others.", metavar="HOST", rich_help_panel=SERVER
    ),
]
PortOption: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0, max=65535, help="0 takes any free one.", metavar="N", rich_help_panel=SERVER
    ),
]
DEFAULT_SOURCE: Final = "digits"  # of fit
SourceArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="Dataset (digits), folder of tables, or graph file.",
        metavar="SOURCE",
        show_default=False,
    ),
]
ColumnOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="label, id, number, scaled, date, text, ...",
        metavar="NAME=KIND",
        rich_help_panel=OWN_TABLES,
    ),
]


def _table_options(
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="Table of nodes (CSV, Parquet).", metavar="FILE", rich_help_panel=OWN_TABLES
        ),
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option(
            help="Table of edges, in place of a source.", metavar="FILE", rich_help_panel=OWN_TABLES
        ),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            help="A word that means unknown, such as ?", metavar="WORD", rich_help_panel=OWN_TABLES
        ),
    ] = None,
    drop_dangling: Annotated[
        bool,
        typer.Option(
            "--drop-dangling",
            help="Leave out edges to ids that are no nodes.",
            metavar=FLAG,
            rich_help_panel=OWN_TABLES,
        ),
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option(
            help="Memory to read with, if a file needs more.",
            metavar="8GB",
            rich_help_panel=OWN_TABLES,
        ),
    ] = None,
) -> None:
    """Options that say how tables and files are read."""


TableOptions: TypeAlias = Annotated[Any, OptionGroup(_table_options)]
