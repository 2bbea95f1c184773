"""The command `quietgraph`: arguments in, calls, results to stdout, the rest to stderr."""

import os
import sys
from typing import Annotated

import typer

from quietgraph import __version__
from quietgraph.cli.commands import (
    bench,
    bench_table,
    convert,
    diagnose,
    fit,
    label,
    listings,
    paper,
    predict,
    review,
    serve,
    tune,
)
from quietgraph.cli.options import MEASURE
from quietgraph.errors import QuietgraphError

app = typer.Typer(
    name="quietgraph",
    help="Clean predictions from noisy graphs.",
    epilog="Start with:  quietgraph fit --noise symmetric:0.4 --beside gcn",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for module in (fit, predict, diagnose, review, serve, convert, tune, paper, listings):
    app.add_typer(module.commands)
measure = typer.Typer(help="Measure methods under noise, honestly.", no_args_is_help=True)
for module in (bench, bench_table):
    measure.add_typer(module.commands)
app.add_typer(label.commands, name="label", help="What to label next; labels of LLMs.")
app.add_typer(measure, name="bench", rich_help_panel=MEASURE)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quietgraph {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version.", metavar=""
        ),
    ] = False,
) -> None:
    """Clean predictions from noisy graphs."""


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2."""
    # Threads of OpenMP that wait spin for a short time only: beside other work on the same cores a
    # fit of a small graph took ten times as long. It is read when PyTorch is first imported.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        app(standalone_mode=True)
    except BrokenPipeError:  # the reader of our output went away
        sys.exit(0)
    except (QuietgraphError, OSError) as error:
        _say(f"error: {error}", "red")
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped.")
        sys.exit(130)


def _say(text: str, style: str | None = None) -> None:
    from quietgraph.cli.console import errors  # noqa: PLC0415  (not needed for --help)

    errors.print(text.replace("\n", r"\n"), style=style, markup=False)
