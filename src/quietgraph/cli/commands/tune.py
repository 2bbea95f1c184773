"""`quietgraph tune`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import JsonOption, RootOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:  quietgraph tune digits --method gcn --noise symmetric:0.4 --trials 20  |  "
    "quietgraph tune cora --method gcl-lrr --param rank_weight=0.05:3:log  |  "
    "quietgraph tune cora --method gcl-lrr --paper-grid"
)
@deferred
def tune(  # noqa: PLR0917
    dataset: Annotated[str, typer.Argument(help="A dataset name.")],
    method: Annotated[
        str, typer.Option(help="Method, or variant (gcn:hidden=128) for what is fixed.")
    ],
    noise: Annotated[str, typer.Option(help="One noise setting.")] = "symmetric:0.4",
    trials: Annotated[int, typer.Option(help="Trials in all, earlier ones included.", min=1)] = 30,
    store: Annotated[Path, typer.Option(help="SQLite file of the trials.")] = Path("tune.sqlite"),
    param: Annotated[
        list[str] | None,
        typer.Option(help="What to search: name=low:high, name=low:high:log or name=a,b."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="validation (noisy labels), or folds (five, noisy training labels)."),
    ] = None,
    is_paper_grid: Annotated[
        bool, typer.Option("--paper-grid", help="Rank ratio and weight as the paper, by folds.")
    ] = False,
    seeds: Annotated[
        str, typer.Option(help="Draws to average over; keep them apart from the benchmark's.")
    ] = "1000-1002",
    split: Annotated[str | None, typer.Option(help="Another split: noisygl, per-class.")] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for good parameters; started again, it goes on where it was."""
