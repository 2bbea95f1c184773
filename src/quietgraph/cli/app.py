"""The command `quietgraph`: options in, calls, results to stdout, the rest to stderr."""

import os
import sys
from typing import Annotated

import typer

from quietgraph import __version__
from quietgraph.cli import bench, convert, diagnose, fit, listings, next_labels, paper, predict, review, tune
from quietgraph.errors import QuietgraphError

app = typer.Typer(
    name="quietgraph",
    help="Clean predictions from noisy graphs.",
    epilog="Start with:  quietgraph fit digits --noise symmetric:0.4",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for module in (fit, predict, review, next_labels, convert, bench, paper, tune, diagnose, listings):
    module.add(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quietgraph {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Clean predictions from noisy graphs."""


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2."""
    # Waiting OpenMP threads spin for a short time only: beside other work a small fit took ten times as long.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        app()
    except BrokenPipeError:  # the reader of our output went away
        sys.exit(0)
    except QuietgraphError as error:
        from quietgraph.cli.console import say

        say(f"error: {error}", "red")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
