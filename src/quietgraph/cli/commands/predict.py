"""`quietgraph predict`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import (
    JsonOption,
    RootOption,
    SourceArgument,
    TableOptions,
    ThreadsOption,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph predict runs/digits-quiet-0 digits\n"
    "  quietgraph predict runs/mine my_grown_graph/"
)
@deferred
def predict(  # noqa: PLR0917
    model_dir: Annotated[
        Path, typer.Argument(help="A run or model folder written by fit.", metavar="MODEL_DIR")
    ],
    source: SourceArgument = "",
    tables: TableOptions = None,
    out: Annotated[Path, typer.Option(help="Folder for predictions.csv.", metavar="DIR")] = Path(
        "predictions"
    ),
    data_root: RootOption = None,
    as_json: JsonOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Predict the labels of all nodes of a graph with a fitted model."""
