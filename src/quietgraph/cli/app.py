"""The command `quietgraph`: arguments in, calls, results to stdout, the rest to stderr."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from quietgraph.cli.console import say
from quietgraph.errors import QuietgraphError

app = typer.Typer(
    name="quietgraph",
    help="Clean predictions from noisy graphs.",
    epilog="Start with:  quietgraph fit --noise symmetric:0.4 --beside gcn",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quietgraph {version('quietgraph')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Clean predictions from noisy graphs."""


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2."""
    from quietgraph.cli import commands  # noqa: F401, PLC0415  (fills `app`)

    try:
        app(standalone_mode=True)
    except QuietgraphError as error:
        say(f"[red]error:[/] {_plain(error)}")
        sys.exit(2)
    except KeyboardInterrupt:
        say("stopped.")
        sys.exit(130)
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output went away
            sys.exit(0)
        say(f"[red]error:[/] {_plain(error)}")
        sys.exit(2)


def _plain(error: Exception) -> str:
    from rich.markup import escape  # noqa: PLC0415

    return escape(str(error))
