"""`quietgraph label`: the options of what to label next, of prompts and of their answers."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import JsonOption, RootOption

commands = typer.Typer()


@commands.command(
    "next",
    epilog="Example:\n  quietgraph label next runs/mine --budget 50 --annotator Ann",
)
@deferred
def choose(  # noqa: PLR0917
    run_dir: Annotated[Path, typer.Argument(help="A run folder written by fit.")],
    budget: Annotated[int, typer.Option(min=1, help="How many labels.", metavar="N")] = 50,
    annotator: Annotated[
        str | None, typer.Option(help="Who is asked; else who suits best.", metavar="NAME")
    ] = None,
    costs: Annotated[
        list[str] | None, typer.Option("--cost", help="Of an answer.", metavar="NAME=VALUE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to fill in (else in the run).", metavar="FILE")
    ] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the nodes whose labels are worth most, new ones or again."""


@commands.command(
    epilog="Example:\n  quietgraph label prompt papers/ --text title,abstract \\\n"
    "    --classes theory,systems,learning --provider anthropic"
)
@deferred
def prompt(  # noqa: PLR0917
    source: Annotated[Path, typer.Argument(help="A folder or a table of nodes.")],
    text: Annotated[str, typer.Option(help="Columns to read.", metavar="NAMES")],
    classes: Annotated[
        str, typer.Option(help="Their names (else of the labels).", metavar="NAMES")
    ] = "",
    id_column: Annotated[
        str, typer.Option("--id", help="Column of node ids (else the first).", metavar="NAME")
    ] = "",
    nodes: Annotated[
        Path | None, typer.Option(help="Only those of a table.", metavar="FILE")
    ] = None,
    provider: Annotated[str, typer.Option(help="openai or anthropic.", metavar="NAME")] = "openai",
    model: Annotated[str | None, typer.Option(help="Name of the model.", metavar="NAME")] = None,
    out: Annotated[Path, typer.Option(help="File to write.", metavar="FILE")] = Path(
        "prompts.jsonl"
    ),
    as_json: JsonOption = False,
) -> None:
    """Write prompts for a language model, as its provider's batches take them."""


@commands.command(epilog="Example:\n  quietgraph label answers batch_output.jsonl --classes a,b,c")
@deferred
def answers(
    file: Annotated[Path, typer.Argument(help="JSON lines that the provider gave back.")],
    classes: Annotated[str, typer.Option(help="Names of the classes.", metavar="NAMES")],
    annotator: Annotated[
        str | None, typer.Option(help="Name (else the model's).", metavar="NAME")
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write.", metavar="FILE")] = Path(
        "annotations.csv"
    ),
    as_json: JsonOption = False,
) -> None:
    """Turn the answers of a language model into a table for fit --annotations."""
