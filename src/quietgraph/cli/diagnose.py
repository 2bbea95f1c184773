"""`quietgraph diagnose`: how low-frequency, how complex, how trustworthy an embedding is."""

from pathlib import Path

import typer
from pydantic import Field

from quietgraph.cli.options import ARGUMENT, Output, command


class Diagnose(Output):
    """Which embedding is looked at."""

    source: str = Field("digits", description="Dataset, or folder of a run.", json_schema_extra=ARGUMENT)
    method: str = Field("gcl-lr-attention", description="Method that learns the embedding.")
    embeddings: Path | None = Field(None, description="An embedding of your own: .npy [nodes, dim].")
    noise: str = Field("symmetric:0.4", description="Label noise of a dataset.")
    seed: int = Field(0, ge=0, description="Seed of split, noise and training.")
    out: Path | None = Field(None, description="Folder for the figures.")


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, Diagnose, panel="Measure")(diagnose)


def diagnose(options: Diagnose) -> None:
    """Show spectrum, label projections, kernel complexity and the bound of an embedding."""
    from quietgraph.cli.console import show_table, tell
    from quietgraph.diagnose.command import diagnose_source, write_figures

    found = diagnose_source(
        options.source,
        method=options.method,
        embeddings=options.embeddings,
        noise=options.noise,
        seed=options.seed,
    )
    if options.out is not None:
        write_figures(found, options.source, options.out)
    if options.json_:
        tell("", found.to_dict(), as_json=True)
    else:
        columns, rows = found.table()
        show_table(columns, rows)
