"""`quietgraph diagnose`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import BENCHMARK, THEORY, JsonOption, RootOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph diagnose runs/demo\n"
    "  quietgraph diagnose cora --method gcn --noise symmetric:0.4\n"
    "  quietgraph diagnose cora --embeddings mine.npy"
)
@deferred
def diagnose(  # noqa: PLR0917
    source: Annotated[
        str, typer.Argument(help="A dataset, or the folder of a fit.", metavar="SOURCE")
    ] = "digits",
    method: Annotated[
        str, typer.Option(help="Whose embeddings to study.", metavar="NAME")
    ] = "gcl-lr-attention",
    embeddings: Annotated[
        Path | None, typer.Option(help="Study this .npy instead, one row per node.", metavar="FILE")
    ] = None,
    noise: Annotated[
        str,
        typer.Option(help="Label noise to study.", metavar="KIND:RATE", rich_help_panel=BENCHMARK),
    ] = "symmetric:0.4",
    seed: Annotated[
        int,
        typer.Option(
            help="Decides split, noise and training.", metavar="N", rich_help_panel=BENCHMARK
        ),
    ] = 0,
    scale: Annotated[
        str,
        typer.Option(help="Rows of unit length, or raw.", metavar="NAME", rich_help_panel=THEORY),
    ] = "unit",
    constant: Annotated[
        float,
        typer.Option(help="The unknown c_0 of the bound.", metavar="N", rich_help_panel=THEORY),
    ] = 1.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for figures and diagnosis.json.", metavar="DIR")
    ] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Spectrum, kernel complexity and bound of an embedding."""
