"""`quietgraph serve`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import SERVER, JsonOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph serve runs/demo\n"
    "  QUIETGRAPH_TOKEN=secret quietgraph serve runs/demo --port 9000"
)
@deferred
def serve(  # noqa: PLR0917
    model_dir: Annotated[
        Path, typer.Argument(help="A run or model folder written by fit.", metavar="MODEL_DIR")
    ],
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 for others.", metavar="HOST", rich_help_panel=SERVER
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="0 takes any free one.", metavar="N", rich_help_panel=SERVER
        ),
    ] = 8480,
    rate: Annotated[
        float,
        typer.Option(
            min=0.1, help="Requests a second of a client.", metavar="N", rich_help_panel=SERVER
        ),
    ] = 20.0,
    largest: Annotated[
        float,
        typer.Option(
            "--max-mb",
            min=0.001,
            help="Largest request in megabytes.",
            metavar="N",
            rich_help_panel=SERVER,
        ),
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Answer requests for predictions over HTTP, for programs with the token."""
