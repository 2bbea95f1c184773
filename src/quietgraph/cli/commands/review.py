"""`quietgraph review`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import FLAG, SERVER, HostOption, JsonOption, PortOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph review runs/demo\n"
    "  quietgraph review runs/demo --reviewer Ann\n"
    "  quietgraph review runs/demo --export verified.csv"
)
@deferred
def review(  # noqa: PLR0917
    run_dir: Annotated[
        Path, typer.Argument(help="A run folder written by fit.", metavar="RUN_DIR")
    ],
    host: HostOption = "127.0.0.1",
    port: PortOption = 8470,
    reviewer: Annotated[
        str, typer.Option(help="Your name; without it the page asks.", metavar="NAME")
    ] = "",
    browser: Annotated[
        bool, typer.Option(help="Open the page.", metavar=FLAG, rich_help_panel=SERVER)
    ] = True,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the merged decisions to a CSV file and end.", metavar="FILE"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the report of a run to reviewers and save their decisions."""
