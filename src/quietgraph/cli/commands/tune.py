"""`quietgraph tune`: its options."""

from pathlib import Path
from typing import Annotated

import typer

from quietgraph.cli.deferred import deferred
from quietgraph.cli.options import FLAG, MEASURE, SEARCH, JsonOption, RootOption

commands = typer.Typer()


@commands.command(
    epilog="Examples:\n  quietgraph tune digits --method gcn --noise symmetric:0.4 --trials 20\n"
    "  quietgraph tune cora --method gcl-lrr --param rank_weight=0.05:3:log\n"
    "  quietgraph tune cora --method gcl-lrr --paper-grid",
    rich_help_panel=MEASURE,
)
@deferred
def tune(  # noqa: PLR0917
    dataset: Annotated[str, typer.Argument(help="A dataset name.", metavar="DATASET")],
    method: Annotated[
        str, typer.Option(help="Method, or variant (gcn:hidden=128).", metavar="NAME")
    ],
    noise: Annotated[
        str, typer.Option(help="One noise setting.", metavar="KIND:RATE")
    ] = "symmetric:0.4",
    trials: Annotated[
        int, typer.Option(help="Trials in all, with earlier ones.", min=1, metavar="N")
    ] = 30,
    store: Annotated[Path, typer.Option(help="SQLite file of the trials.", metavar="FILE")] = Path(
        "tune.sqlite"
    ),
    param: Annotated[
        list[str] | None,
        typer.Option(
            help="name=low:high, name=low:high:log or name=a,b.",
            metavar="RANGE",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="validation, folds or fold-loss, on noisy labels.",
            metavar="NAME",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    is_paper_grid: Annotated[
        bool,
        typer.Option(
            "--paper-grid",
            help="Rank ratio and weight as the paper, by folds.",
            metavar=FLAG,
            rich_help_panel=SEARCH,
        ),
    ] = False,
    is_paper_search: Annotated[
        bool,
        typer.Option(
            "--paper-search",
            help="The paper's whole search, --trials a stage.",
            metavar=FLAG,
            rich_help_panel=SEARCH,
        ),
    ] = False,
    seeds: Annotated[
        str, typer.Option(help="Draws, apart from the benchmark's.", metavar="N")
    ] = "1000-1002",
    split: Annotated[
        str | None, typer.Option(help="Another split: noisygl, per-class.", metavar="NAME")
    ] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for good parameters; started again, it continues."""
