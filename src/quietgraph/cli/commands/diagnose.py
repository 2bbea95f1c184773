"""`quietgraph diagnose`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import JsonOption, RootOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph diagnose runs/demo  |  quietgraph diagnose cora "
    "--method gcn --noise symmetric:0.4  |  quietgraph diagnose cora --embeddings mine.npy"
)
@deferred
def diagnose(  # noqa: PLR0917
    source: Annotated[
        str, typer.Argument(help="A dataset name, or the folder of a fit.")
    ] = "digits",
    method: Annotated[str, typer.Option(help="Whose embeddings to study.")] = "gcl-lr-attention",
    embeddings: Annotated[
        Path | None, typer.Option(help="Study this matrix (.npy) instead, one row per node.")
    ] = None,
    noise: Annotated[str, typer.Option(help="Label noise to study.")] = "symmetric:0.4",
    seed: Annotated[int, typer.Option(help="Decides split, noise and training.")] = 0,
    scale: Annotated[str, typer.Option(help="Rows of unit length, or raw.")] = "unit",
    constant: Annotated[float, typer.Option(help="The unknown c_0 of the bound.")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Folder for figures and diagnosis.json.")] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Spectrum, kernel complexity, eigen-projections and the terms of the test-loss bound."""
