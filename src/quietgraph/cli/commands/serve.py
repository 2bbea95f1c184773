"""`quietgraph serve`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import SERVER, HostOption, JsonOption, PortOption

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
    host: HostOption = "127.0.0.1",
    port: PortOption = 8480,
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
            max=100_000,
            help="Largest request in megabytes.",
            metavar="N",
            rich_help_panel=SERVER,
        ),
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Answer requests for predictions over HTTP, for programs with the token."""
