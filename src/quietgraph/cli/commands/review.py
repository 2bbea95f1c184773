"""`quietgraph review`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph review runs/demo  |  quietgraph review runs/demo --reviewer Ann"
    "  |  quietgraph review runs/demo --export verified.csv"
)
@deferred
def review(  # noqa: PLR0917
    run_dir: Annotated[Path, typer.Argument(help="A run folder written by fit.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine only if you say so.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")
    ] = 8470,
    reviewer: Annotated[str, typer.Option(help="Your name; without it the page asks.")] = "",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the merged decisions to this CSV file instead of serving."),
    ] = None,
) -> None:
    """Serve the report of a run and save the decisions of its reviewers as they are made."""
